#include "onceward/claim.hpp"

#include "engine/claim_request.hpp"
#include "library/command.hpp"
#include "library/finish.hpp"
#include "library/host.hpp"
#include "library/wording.hpp"

namespace onceward::api {
namespace {

Error is_over() { return {Errc::conflict, "this claim is over"}; }

// Idempotent by fence, so a lost reply is told apart by asking again (I10).
template <class T, class Start>
Result<T> ask_twice(Host& host, Start start) {
  Result<T> reply = host.ask<T>(start);
  if (!reply && reply.error().code == Errc::unavailable) reply = host.ask<T>(start);
  return reply;
}

// What a claim that was not granted means for its caller.
Outcome stands(const Record& record, onceward::Command command) {
  for (;;) {
    const Decision decision = decide_duplicate(record, command.fingerprint);
    if (const auto* again = std::get_if<CompareAgain>(&decision)) {
      const Result<Fingerprint> as_then = command.fingerprint_as(again->version);
      if (!as_then) return worded_failure(as_then.error());
      command.fingerprint = *as_then;
      continue;
    }
    if (std::holds_alternative<Replay>(decision)) return worded_replay(record);
    if (const auto* reject = std::get_if<Reject>(&decision)) {
      return worded_rejection(record, reject->why, command.request->leaves);
    }
    return worded_in_progress(record);
  }
}

}  // namespace

class Claim::State {
 public:
  State(std::shared_ptr<Host> host, const ClaimRequest& request, const Record& record,
        std::shared_ptr<const Policy> policy)
      : host_(std::move(host)),
        record_(record),
        policy_(std::move(policy)),
        fence_(fence_of(record)),
        lease_(request.lease),
        unbind_(may_unbind(request, record.epoch)),
        ticket_{to_string(record.operation_id), record.epoch} {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Told, not asked: whoever drops a claim may be in a hurry, or on the engine's own thread.
  ~State() {
    if (over_) return;
    Host& host = *host_;
    if (dispatched_) {
      const UnknownRequest request{fence_, {.cause = UnknownCause::declared}};
      host.tell<Record>([&host, request](auto& reply) { return host.store().unknown(request, reply); });
    } else {
      const ReleaseRequest request{fence_, unbind_};
      host.tell<Record>([&host, request](auto& reply) { return host.store().release(request, reply); });
    }
  }

  const Ticket& ticket() const { return ticket_; }
  bool dispatched() const { return dispatched_; }

  Result<Done> dispatch() {
    if (over_) return is_over();
    // Set first: if the reply is lost, it may have been dispatched all the same.
    dispatched_ = true;
    return ask([this](auto& reply) { return host_->store().dispatch(fence_, reply); });
  }
  Result<Done> renew() {
    if (over_) return is_over();
    const RenewRequest request{fence_, lease_};
    return ask([this, request](auto& reply) { return host_->store().renew(request, reply); });
  }
  Result<Done> complete(Effect effect) {
    const bool failed = effect.kind == Effect::Kind::failed;
    if (!failed && effect.kind != Effect::Kind::succeeded)
      return Error{Errc::invalid, "only succeeded and failed complete a claim"};
    if (const std::string why = events_refusal(effect, host_->events().kept()); !why.empty())
      return Error{Errc::invalid, why};
    CompleteRequest request{fence_, failed ? onceward::State::failed : onceward::State::succeeded, nullptr,
                            effect.ttl};
    request.response = std::make_shared<const Response>(kept_response(effect, host_->options().max_response));
    request.result = kept_result(effect);
    request.events =
        host_->events().of(record_, *policy_, request.as, request.response.get(), request.result.get(),
                           effect.events.empty() ? nullptr : &effect.events);
    return end([this, request](auto& reply) { return host_->store().complete(request, reply); });
  }
  Result<Done> release() {
    const ReleaseRequest request{fence_, unbind_ && !dispatched_};
    return end([this, request](auto& reply) { return host_->store().release(request, reply); });
  }
  Result<Done> unknown() {
    const UnknownRequest request{fence_, {.cause = UnknownCause::declared}};
    return end([this, request](auto& reply) { return host_->store().unknown(request, reply); });
  }

 private:
  template <class Start>
  Result<Done> ask(Start start) {
    if (host_->on_own_thread()) return Error{Errc::invalid, "this would block the engine's own thread"};
    const Result<Record> reply = ask_twice<Record>(*host_, start);
    if (!reply) return reply.error();
    return Done{};
  }
  // The claim is over when the store says so, or that it is somebody else's now. While the store cannot
  // answer it is still ours, and the call may be repeated.
  template <class Start>
  Result<Done> end(Start start) {
    Result<Done> done = ask(std::move(start));
    const bool may_repeat =
        !done && (done.error().code == Errc::unavailable || done.error().code == Errc::refused ||
                  done.error().code == Errc::invalid);
    over_ = over_ || !may_repeat;
    return done;
  }

  std::shared_ptr<Host> host_;
  const Record record_;
  const std::shared_ptr<const Policy> policy_;
  const Fence fence_;
  const Duration lease_;
  const bool unbind_;
  const Ticket ticket_;
  bool dispatched_ = false;
  bool over_ = false;
};

Claim::Claim(std::unique_ptr<State> state) : state_(std::move(state)) {}
Claim::Claim(Claim&&) noexcept = default;
Claim& Claim::operator=(Claim&&) noexcept = default;
Claim::~Claim() = default;

const Ticket& Claim::ticket() const { return state_->ticket(); }
bool Claim::dispatched() const { return state_->dispatched(); }
Result<Done> Claim::dispatch() { return state_->dispatch(); }
Result<Done> Claim::renew() { return state_->renew(); }
Result<Done> Claim::complete(std::string value, OperationResult result) {
  Effect effect = Effect::succeeded(std::move(value));
  effect.result = std::move(result);
  return state_->complete(std::move(effect));
}
Result<Done> Claim::fail(std::string value, OperationResult result) {
  Effect effect = Effect::failed(std::move(value));
  effect.result = std::move(result);
  return state_->complete(std::move(effect));
}
Result<Done> Claim::complete(Effect effect) { return state_->complete(std::move(effect)); }
Result<Done> Claim::release() { return state_->release(); }
Result<Done> Claim::unknown() { return state_->unknown(); }

ClaimResult Engine::claim(const Command& command) {
  ClaimResult result;
  if (std::optional<Outcome> refused = refusal(command)) {
    result.outcome = std::move(*refused);
    return result;
  }
  if (host_->on_own_thread()) {
    result.outcome = invalid_command("claim() would block the engine's own thread");
    return result;
  }
  const onceward::Command order = host_->command_for(subject_of(*host_, command));
  const ClaimRequest request =
      claim_request(order, onceward::State::claimed, host_->clock().now(), host_->random());
  const Result<ClaimReply> reply = ask_twice<ClaimReply>(
      *host_, [this, &request](auto& answer) { return host_->store().claim(request, answer); });
  if (!reply) {
    result.outcome = worded_failure(reply.error());
  } else if (!reply->granted && reply->standing) {
    Record holder;
    holder.operation_id = reply->standing->operation_id;
    const bool fact = reply->standing->kind == MarkKind::unique;
    result.outcome = worded_rejection(holder, fact ? Rejection::duplicate_fact : Rejection::suspected, {});
  } else if (!reply->granted) {
    result.outcome = stands(reply->record, order);
  } else {
    result.claim.emplace(std::make_unique<Claim::State>(host_, request, reply->record, order.policy));
    result.outcome.kind = Outcome::Kind::executed;
    result.outcome.operation_id = result.claim->ticket().operation_id;
    result.outcome.epoch = reply->record.epoch;
  }
  return result;
}

}  // namespace onceward::api
