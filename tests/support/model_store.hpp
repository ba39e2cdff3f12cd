// The model of a store: `transition` over a plain map, one thread, answered at once. Tests script the
// next faults of a verb and count what was asked; the simulation derives its authority from it.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/transition.hpp"
#include "onceward/store.hpp"

namespace onceward::testing {

// What happens to one call of a verb.
struct Fault {
  Errc error = Errc::unavailable;
  bool applied = false;  // the reply was lost, not the request
};

class ModelStore : public Store {
 public:
  explicit ModelStore(const Clock& clock) : clock_(clock) {}

  bool claim(const ClaimRequest& request, Reply<ClaimReply>& reply) override {
    return answer<ClaimReply>("claim", reply, [&] {
      ClaimStep step = transition(find(request.scope), request, clock_.now());
      if (step.next) put(std::move(*step.next));
      return Result<ClaimReply>(std::move(step.reply));
    });
  }
  bool dispatch(const Fence& fence, Reply<Record>& reply) override {
    return answer<Record>("dispatch", reply, [&] { return apply(fence.scope, fence); });
  }
  bool renew(const RenewRequest& request, Reply<Record>& reply) override {
    return answer<Record>("renew", reply, [&] { return apply(request.fence.scope, request); });
  }
  bool complete(const CompleteRequest& request, Reply<Record>& reply) override {
    return answer<Record>("complete", reply, [&] { return apply(request.fence.scope, request); });
  }
  bool release(const ReleaseRequest& request, Reply<Record>& reply) override {
    return answer<Record>("release", reply, [&] { return apply(request.fence.scope, request); });
  }
  bool unknown(const UnknownRequest& request, Reply<Record>& reply) override {
    return answer<Record>("unknown", reply, [&] { return apply(request.fence.scope, request); });
  }
  bool resolve(const ResolveRequest& request, Reply<Record>& reply) override {
    return answer<Record>("resolve", reply, [&] { return apply(request.scope, request); });
  }
  bool lookup(const Scope& scope, Reply<Record>& reply) override {
    return answer<Record>("lookup", reply, [&]() -> Result<Record> {
      const Record* stored = find(scope);
      std::optional<Record> record = stored ? settle(*stored, clock_.now()) : std::nullopt;
      if (!record) return Error{Errc::not_found, "no such record"};
      return std::move(*record);
    });
  }
  bool lookup(const OperationId& id, Reply<Record>& reply) override {
    for (const auto& [scope, record] : records_)
      if (record.operation_id == id) return lookup(scope, reply);
    reply.value = Error{Errc::not_found, "no such record"};
    return true;
  }
  bool list(const ListRequest& request, Reply<ListReply>& reply) override {
    ListReply found;
    for (const auto& [scope, stored] : records_) {
      const std::optional<Record> record = settle(stored, clock_.now());
      if (record && matches(request, *record)) found.records.push_back(*record);
    }
    reply.value = std::move(found);
    return true;
  }
  bool purge(const PurgeRequest& request, Reply<PurgeReply>& reply) override {
    PurgeReply done;
    for (auto it = records_.begin(); it != records_.end();) {
      const PurgeAction action = purge_action(it->second, request, clock_.now());
      if (action == PurgeAction::to_receipt) it->second = receipt_of(it->second), ++done.receipts;
      if (action == PurgeAction::remove) {
        it = records_.erase(it);
        ++done.removed;
      } else {
        ++it;
      }
    }
    reply.value = done;
    return true;
  }
  bool stats(Reply<StoreStats>& reply) override {
    reply.value = StoreStats{records_.size(), 0, 0, {}};
    return true;
  }
  void watch(const Scope& scope, std::function<void()> changed) override { watches_[scope] = changed; }
  void unwatch(const Scope& scope) override { watches_.erase(scope); }

  // The test's side.
  void fail_next(const std::string& verb, Fault fault) { faults_[verb].push_back(fault); }
  void hold_replies_of(const std::string& verb) { held_verb_ = verb; }  // until release_held()
  void release_held() {
    held_verb_.clear();
    for (const auto& [executor, reply] : std::exchange(held_, {})) executor->post(reply);
  }
  int calls(const std::string& verb) const {
    const auto found = calls_.find(verb);
    return found == calls_.end() ? 0 : found->second;
  }
  const Record* find(const Scope& scope) const {
    const auto found = records_.find(scope);
    return found == records_.end() ? nullptr : &found->second;
  }
  void put(Record next) {
    const Scope scope = next.scope;
    records_.insert_or_assign(scope, std::move(next));
  }
  void wake(const Scope& scope) {
    if (const auto found = watches_.find(scope); found != watches_.end()) found->second();
  }
  std::size_t watches() const { return watches_.size(); }

 private:
  template <class Event>
  Result<Record> apply(const Scope& scope, const Event& event) {
    Step step = transition(find(scope), event, clock_.now());
    if (step.next) put(std::move(*step.next));
    return std::move(step.reply);
  }
  template <class T, class Apply>
  bool answer(const std::string& verb, Reply<T>& reply, Apply apply_it) {
    ++calls_[verb];
    std::deque<Fault>& faults = faults_[verb];
    if (faults.empty()) {
      reply.value = apply_it();
    } else {
      const Fault fault = faults.front();
      faults.pop_front();
      if (fault.applied) (void)apply_it();
      reply.value = Error{fault.error, "scripted"};
    }
    if (verb != held_verb_) return true;
    held_.emplace_back(reply.executor, &reply);
    return false;
  }

  const Clock& clock_;
  std::map<Scope, Record> records_;
  std::map<std::string, std::deque<Fault>> faults_;
  std::map<std::string, int> calls_;
  std::map<Scope, std::function<void()>> watches_;
  std::string held_verb_;
  std::vector<std::pair<Executor*, Completion*>> held_;
};

}  // namespace onceward::testing
