#include "proxy/bulk_work.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/await.hpp"
#include "core/fingerprint.hpp"
#include "core/probe_target.hpp"
#include "core/request_marks.hpp"
#include "core/scope.hpp"
#include "net/worker.hpp"
#include "proxy/bulk_rules.hpp"

namespace onceward {
namespace {

// Items that are already done cost no waiting, so others on this worker are given a turn now and then.
constexpr std::size_t items_per_turn = 64;

// For an item of a job that is older than its items' records live: what its record says is told, and one that
// has none any more is not sent, because it may have been before.
class NotAgain final : public Work {
 public:
  bool ready() override { return false; }
  Task<Result<Done>> prepare() override { co_return Error{Errc::refused, "the key is too old"}; }
  void stand_down() override {}
  Task<Effect> execute(Grant) override { co_return NotSent{"the key is too old"}; }
  Task<std::optional<Answer>> late() override { co_return std::nullopt; }
};

}  // namespace

struct BulkWork::AllEnded {
  BulkWork& work;
  bool await_ready() const noexcept { return work.lanes_ == 0; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept { work.waiting_ = waiting; }
  void await_resume() const noexcept {}
};

BulkWork::BulkWork(Tools tools, std::unique_ptr<const Request> request)
    : tools_(std::move(tools)), request_(std::move(request)), bulk_(*request_->operation->bulk) {}

bool BulkWork::ready() {
  if (!lease_) lease_ = request_->upstream->checkout_idle();
  return static_cast<bool>(lease_);
}

// An upstream that cannot be reached now will not be for the items either: then there is no record.
Task<Result<Done>> BulkWork::prepare() {
  const http::UpstreamOptions& options = request_->upstream->options();
  Result<http::Lease> connected =
      co_await request_->upstream->connect(net::Worker::now() + options.connect_timeout);
  if (!connected) co_return connected.error();
  lease_ = std::move(*connected);
  co_return Done{};
}

Task<Effect> BulkWork::execute(Grant grant) {
  lease_.release();  // for the first of the items
  // Counted from when the claim was asked for, which is before the store made it.
  too_old_at_ = grant.hold_until - bulk_.whole->max_hold + (request_->ttl - grant.age);
  tools_.metrics.in_progress.add();
  results_.resize(request_->items.size());
  entry_ = std::make_unique<BulkBoard::Entry>(tools_.board, grant.operation_id, results_.size());
  lanes_ = std::min(bulk_.parallel, results_.size());
  for (std::size_t left = lanes_; left > 0; --left) spawn(lane());
  if (lanes_ != 0) {
    if (const std::shared_ptr<BulkCaller> still_there = caller.lock()) still_there->begun(grant);
  }
  co_await AllEnded{*this};
  entry_.reset();
  tools_.metrics.in_progress.subtract();
  co_return effect();
}

Task<> BulkWork::lane() {
  for (std::size_t count = 1; next_ < results_.size() && tools_.may_begin(); ++count) {
    co_await run_item(next_++);
    if (count % items_per_turn == 0) co_await SleepUntil(tools_.executor, tools_.clock.mono());
  }
  // The last one goes on with the work, which may be gone afterwards.
  if (--lanes_ == 0 && waiting_) waiting_.resume();
}

Task<> BulkWork::run_item(std::size_t index) {
  const BulkItem& item = request_->items[index];
  const std::string key = item_key(request_->key, item.id);
  if (net::Worker::now() >= too_old_at_) {
    const Outcome outcome =
        co_await tools_.engine.run(tools_.executor, command_of(item, key), std::make_shared<NotAgain>());
    ended(index, std::holds_alternative<Unreachable>(outcome) ? expired_item() : item_result(outcome));
    co_return;
  }
  auto work = std::make_shared<UpstreamWork>(
      request_->upstream, request_->operation->policy, request_->rules->max_response,
      UpstreamWork::Request{bulk_.method, std::string(item.json)}, tools_.item_metrics);
  const ItemHead head(*request_->head, {bulk_.method, item.target, key}, *request_->upstream);
  work->head = &head;
  work->send_before = too_old_at_;
  work->shortest_ttl = request_->operation->policy->ttl;
  const Outcome outcome = co_await tools_.engine.run(tools_.executor, command_of(item, key), work);
  work->head = nullptr;
  look_for_suspicion(outcome);
  ended(index, item_result(outcome));
}

void BulkWork::ended(std::size_t index, ItemResult result) {
  keep(results_[index], std::move(result));
  entry_->item_ended(results_[index].state == ItemState::failed);
}

// Bodies that together are too large for the answer are not told, so they are not kept until then either.
void BulkWork::keep(ItemResult& place, ItemResult result) {
  if (result.response) body_bytes_ += result.response->body.size();
  place = std::move(result);
  if (body_bytes_ <= request_->rules->max_response) return;
  if (!without_bodies_) {
    for (ItemResult& earlier : results_) earlier.response.reset();
  }
  without_bodies_ = true;
  place.response.reset();
}

void BulkWork::look_for_suspicion(const Outcome& outcome) const {
  if (const auto* executed = std::get_if<Executed>(&outcome)) {
    if (executed->like) tools_.suspected(executed->record.operation_id, *executed->like);
  } else if (const auto* replayed = std::get_if<Replayed>(&outcome)) {
    if (replayed->suspected) tools_.suspected({}, replayed->record.operation_id);
  } else if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    if (rejected->why == Rejection::suspected) tools_.suspected({}, rejected->record.operation_id);
  }
}

Command BulkWork::command_of(const BulkItem& item, const std::string& key) const {
  const Rules& rules = *request_->rules;
  const std::shared_ptr<const Policy>& policy = request_->operation->policy;
  const Identity& identity = request_->identity;
  Command command;
  command.scope = scope_of(identity.tenant, identity.caller, bulk_.item_name, key, rules.secret);
  const auto print = [this, &item, scope = command.scope](std::uint16_t version) -> Result<Fingerprint> {
    const std::string_view target = item.target;
    const std::size_t mark = std::min(target.find('?'), target.size());
    const FingerprintInput input{.method = bulk_.method,
                                 .operation = bulk_.item_name,
                                 .path = target.substr(0, mark),
                                 .query = target.substr(std::min(mark + 1, target.size())),
                                 .content_type = request_->head->content_type(),
                                 .body = item.json,
                                 .headers = {}};
    // The operation's own pointers lead into the request as a whole.
    const Result<FingerprintResult> printed = fingerprint(version, input, CompiledFingerprintPolicy(), scope);
    if (!printed) return printed.error();
    return printed->fingerprint;
  };
  const Result<Fingerprint> now = print(fingerprint_version);
  ONCEWARD_ASSERT(now.has_value());
  command.fingerprint = *now;
  command.fingerprint_as = print;
  const std::string hint = key_hint(key, rules.secret);
  RequestInfo info{identity.tenant.value_or(""),
                   bulk_.item_name,
                   rules.hash_keys ? hint : key,
                   {},
                   owner_tag(identity, rules.secret)};
  if (policy->probe && needs_request(policy->probe->target)) {
    const Result<std::string> target = fill_in_request(policy->probe->target, {info.tenant, key, item.json});
    if (target) info.probe_target = *target;
  }
  if (request_->operation->reference)
    info.reference = request_->head->reference(*request_->operation->reference, item.json);
  command.confirmed = request_->confirmed;
  info.marks =
      marks_of(*policy, {identity.tenant, identity.caller, bulk_.item_name, item.json, request_->confirmed},
               rules.secret);
  command.request = std::make_shared<const RequestInfo>(std::move(info));
  command.policy = policy;
  // One that an owner left behind when it died is settled when its lease ends.
  command.wait = std::max(policy->lease, request_->upstream->options().timeout);
  command.observer = tools_.observer;
  command.prober = tools_.prober;
  return command;
}

Effect BulkWork::effect() const {
  if (nothing_was_sent(results_)) return NotSent{"the upstream could not be reached for any item"};
  const BulkSummary summary = summarize(results_);
  auto response = std::make_shared<Response>();
  // Not final: given up, so that a retry runs what may run and asks again for the rest.
  response->status = summary.is_final() ? 200 : 207;
  response->headers = "Content-Type: application/json\r\n";
  if (summary.retryable != 0) response->headers.append("Retry-After: 1\r\n");
  response->body = bulk_answer(request_->items, results_, request_->rules->max_response);
  return Answer{std::move(response), summary.is_final() ? OutcomeClass::replay : OutcomeClass::retry, {}};
}

}  // namespace onceward
