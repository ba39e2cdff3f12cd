#include "simulation/port.hpp"

#include <algorithm>

namespace onceward::simulation {

template <class T>
struct Port::OpenReply final : Port::Open {
  explicit OpenReply(Reply<T>& r) : reply(&r) {}
  void answer(Result<T> value) {
    Reply<T>* open = std::exchange(reply, nullptr);
    if (!open) return;
    open->value = std::move(value);
    open->executor->post(open);
  }
  void give_up() override { answer(Error{Errc::stale, "the process is dead"}); }
  Reply<T>* reply;
};

template <class T>
std::shared_ptr<Port::OpenReply<T>> Port::opened(Reply<T>& reply) {
  std::erase_if(open_, [](const auto& open) { return open.use_count() == 1; });
  auto open = std::make_shared<OpenReply<T>>(reply);
  open_.push_back(open);
  return open;
}

bool Port::loses_reply() {
  if (world_.faults.gentle && lost_last_) return lost_last_ = false;
  return lost_last_ = world_.happens(world_.faults.lost_reply);
}

template <class T, class Apply>
bool Port::ask(const char* verb, Reply<T>& reply, Apply apply) {
  if (dead_) {
    reply.value = Error{Errc::stale, "the process is dead"};
    return true;
  }
  const Faults& faults = world_.faults;
  const auto open = opened(reply);
  const auto fail_after = [&](Nanoseconds delay, Errc code) {
    if (world_.traced) world_.say(std::string("port ") + verb + " will fail");
    world_.after(delay, [open, code] { open->answer(Error{code, "simulated"}); });
    return false;
  };
  if (world_.happens(faults.refused)) return fail_after(world_.chance.us(50, 3000), Errc::refused);
  const Nanoseconds timeout = world_.chance.ms(20, 400);
  if (authority_.is_down() || world_.happens(faults.lost_request)) {
    if (world_.happens(faults.late_request)) {
      world_.after(timeout + world_.chance.ms(0, 6000),
                   [apply, authority = &authority_]() mutable { (void)apply(*authority); });
    }
    return fail_after(timeout, Errc::unavailable);
  }
  const bool reply_lost = loses_reply();
  const bool slow = world_.happens(faults.slow_reply);
  const Nanoseconds back = slow ? world_.chance.ms(5, 3000) : world_.chance.us(50, 2000);
  world_.after(world_.chance.us(50, 2000),
               [apply, open, reply_lost, back, authority = &authority_, world = &world_]() mutable {
                 Result<T> result = apply(*authority);
                 if (reply_lost) return;
                 world->after(back, [open, result = std::move(result)] { open->answer(result); });
               });
  return reply_lost ? fail_after(timeout, Errc::unavailable) : false;
}

bool Port::claim(const ClaimRequest& request, Reply<ClaimReply>& reply) {
  ClaimRequest asked = request;
  if (world_.is(Mutant::store_error_means_not_written) && !asked_.insert(request.owner).second)
    world_.chance.fill(asked.owner.data);
  const bool frees = world_.is(Mutant::rejected_duplicate_frees_the_winner);
  return ask<ClaimReply>("claim", reply, [asked, frees](Authority& authority) {
    Result<ClaimReply> result = authority.claim(asked);
    if (frees && result && !result->granted)
      (void)authority.release({fence_of(result->record), false});  // "cleans up" on its way out
    return result;
  });
}

bool Port::dispatch(const Fence& fence, Reply<Record>& reply) {
  return ask<Record>("dispatch", reply, [fence](Authority& a) { return a.apply(fence.scope, fence); });
}

bool Port::renew(const RenewRequest& request, Reply<Record>& reply) {
  return ask<Record>("renew", reply,
                     [request](Authority& a) { return a.apply(request.fence.scope, request); });
}

bool Port::complete(const CompleteRequest& request, Reply<Record>& reply) {
  if (world_.is(Mutant::answer_before_store) && !dead_) {
    // Says that it is stored as soon as it was asked to, and stores it in its own time.
    Result<Record> standing = authority_.lookup(request.fence.scope);
    if (standing) {
      standing->state = request.as;
      standing->response = request.response;
      world_.after(world_.chance.ms(1, 50), [request, authority = &authority_] {
        if (!authority->is_down()) (void)authority->complete(request);
      });
      reply.value = std::move(standing);
      return true;
    }
  }
  return ask<Record>("complete", reply, [request](Authority& a) { return a.complete(request); });
}

bool Port::release(const ReleaseRequest& request, Reply<Record>& reply) {
  return ask<Record>("release", reply, [request](Authority& a) { return a.release(request); });
}

bool Port::unknown(const UnknownRequest& request, Reply<Record>& reply) {
  return ask<Record>("unknown", reply,
                     [request](Authority& a) { return a.apply(request.fence.scope, request); });
}

bool Port::lookup(const Scope& scope, Reply<Record>& reply) {
  return ask<Record>("lookup", reply, [scope](Authority& a) { return a.lookup(scope); });
}

void Port::watch(const Scope& scope, std::function<void()> changed) {
  watches_[scope] = {++next_watch_, std::move(changed)};
}

void Port::unwatch(const Scope& scope) { watches_.erase(scope); }

void Port::left_progress(const Scope& scope) {
  const auto found = watches_.find(scope);
  if (found == watches_.end() || world_.happens(world_.faults.lost_wake_up)) return;
  world_.after(world_.chance.us(50, 5000), [self = self_, scope, number = found->second.number] {
    if (!*self || (*self)->dead_) return;
    const auto watch = (*self)->watches_.find(scope);
    if (watch != (*self)->watches_.end() && watch->second.number == number) watch->second.changed();
  });
}

void Port::die() {
  dead_ = true;
  for (const auto& open : std::exchange(open_, {})) open->give_up();
}

}  // namespace onceward::simulation
