#include "stores/tiered/tiered_store.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "base/await.hpp"
#include "base/task.hpp"
#include "core/record_codec.hpp"
#include "core/record_counts.hpp"

namespace onceward {
namespace {

bool has_answer(const Record& record) {
  return record.state == State::succeeded || record.state == State::failed;
}

// The latest that it can be on the authority's clock. Clocks of machines are not compared; but a claim that
// was just granted tells that its lease, by that clock, had not ended yet.
class AuthorityTime {
 public:
  void learn(Timestamp not_after, MonoTime asked_at) {
    ahead_.store(not_after.time_since_epoch().count() - since_start(asked_at), std::memory_order_relaxed);
  }
  std::optional<Timestamp> latest(MonoTime now) const {
    const std::int64_t ahead = ahead_.load(std::memory_order_relaxed);
    if (ahead == unknown) return std::nullopt;
    return Timestamp(Duration(ahead + since_start(now)));
  }

 private:
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();
  static std::int64_t since_start(MonoTime at) {
    return std::chrono::duration_cast<Duration>(at.time_since_epoch()).count();
  }
  std::atomic<std::int64_t> ahead_ = unknown;
};

class TieredStore final : public Store, public RecordCounts {
 public:
  TieredStore(std::unique_ptr<Store> authority, std::unique_ptr<OutcomeCache> cache, const Clock& clock,
              TieredOptions options)
      : authority_(std::move(authority)), cache_(std::move(cache)), clock_(clock), options_(options) {}

  bool claim(const ClaimRequest& request, Reply<ClaimReply>& reply) override {
    spawn(claim_task(request, reply));
    return false;
  }
  bool dispatch(const Fence& fence, Reply<Record>& reply) override {
    return authority_->dispatch(fence, reply);
  }
  bool renew(const RenewRequest& request, Reply<Record>& reply) override {
    return authority_->renew(request, reply);
  }
  bool complete(const CompleteRequest& request, Reply<Record>& reply) override {
    return change(request.fence.scope, reply,
                  [this, &request](auto& r) { return authority_->complete(request, r); });
  }
  bool release(const ReleaseRequest& request, Reply<Record>& reply) override {
    return change(request.fence.scope, reply,
                  [this, &request](auto& r) { return authority_->release(request, r); });
  }
  bool unknown(const UnknownRequest& request, Reply<Record>& reply) override {
    return change(request.fence.scope, reply,
                  [this, &request](auto& r) { return authority_->unknown(request, r); });
  }
  bool resolve(const ResolveRequest& request, Reply<Record>& reply) override {
    return change(request.scope, reply,
                  [this, &request](auto& r) { return authority_->resolve(request, r); });
  }
  // The engine looks before it connects to the upstream: a replay then needs neither.
  bool lookup(const Scope& scope, Reply<Record>& reply) override {
    if (!cache_->is_reachable()) return authority_->lookup(scope, reply);
    spawn(lookup_task(scope, reply));
    return false;
  }
  bool lookup(const OperationId& id, Reply<Record>& reply) override { return authority_->lookup(id, reply); }
  bool list(const ListRequest& request, Reply<ListReply>& reply) override {
    return authority_->list(request, reply);
  }
  bool purge(const PurgeRequest& request, Reply<PurgeReply>& reply) override {
    // What is past its time has no copy any more.
    if (!request.final_too || !cache_->is_reachable()) return authority_->purge(request, reply);
    spawn(purge_task(request, reply));
    return false;
  }
  bool stats(Reply<StoreStats>& reply) override { return authority_->stats(reply); }
  bool count_records(Reply<std::vector<StateCount>>& reply) override {
    if (auto* const counts = dynamic_cast<RecordCounts*>(authority_.get()))
      return counts->count_records(reply);
    reply.value = Error{Errc::refused, "the authority does not count its records"};
    return true;
  }

  bool serves_transactions() const override { return authority_->serves_transactions(); }

  void watch(const Scope& scope, std::function<void()> changed) override {
    authority_->watch(scope, changed);
    cache_->watch(scope, std::move(changed));
  }
  void unwatch(const Scope& scope) override {
    authority_->unwatch(scope);
    cache_->unwatch(scope);
  }

  // The authority's: a copy answers for its own key only, whose record stands, and never for a mark.
  bool keeps_marks() const override { return authority_->keeps_marks(); }
  OutboxStore* outbox() override { return authority_->outbox(); }

 private:
  template <class T>
  static void answer(Reply<T>& reply, Result<T> value) {
    reply.value = std::move(value);
    reply.next = nullptr;
    reply.executor->post(&reply);
  }

  Task<> claim_task(const ClaimRequest& request, Reply<ClaimReply>& reply) {
    Executor& executor = *reply.executor;
    if (std::optional<Record> copy = co_await find_copy(request.scope, executor)) {
      answer<ClaimReply>(reply, ClaimReply{false, std::move(*copy)});
      co_return;
    }
    const MonoTime asked_at = clock_.mono();
    Result<ClaimReply> claimed =
        co_await store_call<ClaimReply>(executor, [&](auto& r) { return authority_->claim(request, r); });
    if (claimed && claimed->granted) time_.learn(claimed->record.lease_until, asked_at);
    if (claimed && !claimed->granted) keep_copy(claimed->record);
    answer(reply, std::move(claimed));
  }

  Task<> lookup_task(const Scope& scope, Reply<Record>& reply) {
    Executor& executor = *reply.executor;
    if (std::optional<Record> copy = co_await find_copy(scope, executor)) {
      answer<Record>(reply, std::move(*copy));
      co_return;
    }
    Result<Record> found =
        co_await store_call<Record>(executor, [&](auto& r) { return authority_->lookup(scope, r); });
    if (found) keep_copy(*found);
    answer(reply, std::move(found));
  }

  Task<std::optional<Record>> find_copy(Scope scope, Executor& executor) {
    if (!cache_->is_reachable()) co_return std::nullopt;
    const Result<std::string> bytes =
        co_await store_call<std::string>(executor, [&](auto& r) { return cache_->get(scope, r); });
    if (!bytes) co_return std::nullopt;
    // Whatever is damaged, foreign or not final here is at most a miss: the authority has the record.
    Result<Record> record = decode_record(*bytes);
    if (!record || record->scope != scope || !has_answer(*record)) co_return std::nullopt;
    co_return std::move(*record);
  }

  void keep_copy(const Record& record) {
    if (!has_answer(record) || !cache_->is_reachable()) return;
    const std::optional<Timestamp> now = time_.latest(clock_.mono());
    if (!now) return;
    const Duration life = std::min(record.expires_at - *now, options_.longest_life) - options_.margin;
    if (life <= Duration::zero()) return;
    std::string bytes;
    encode_record(record, bytes);
    cache_->put(record.scope, std::move(bytes), life);
  }

  template <class Start>
  bool change(const Scope& scope, Reply<Record>& reply, Start start) {
    spawn(change_task(scope, reply, std::move(start)));
    return false;
  }

  template <class Start>
  Task<> change_task(Scope scope, Reply<Record>& reply, Start start) {
    Result<Record> changed = co_await store_call<Record>(*reply.executor, start);
    if (changed) {
      keep_copy(*changed);
      if (cache_->is_reachable()) cache_->announce(scope);
    }
    answer(reply, std::move(changed));
  }

  // Copies go first: one that is made between the two steps lives no longer than any other.
  Task<> purge_task(const PurgeRequest& request, Reply<PurgeReply>& reply) {
    Executor& executor = *reply.executor;
    for (const State state : {State::succeeded, State::failed}) {
      ListRequest list{state, request.operation, request.tenant, request.updated_before, request.chunk, {}};
      do {
        const Result<ListReply> found =
            co_await store_call<ListReply>(executor, [&](auto& r) { return authority_->list(list, r); });
        if (!found) break;
        for (const Record& record : found->records) {
          (void)co_await store_call<Done>(executor, [&](auto& r) { return cache_->remove(record.scope, r); });
        }
        list.cursor = found->cursor;
      } while (!list.cursor.empty());
    }
    answer(reply,
           co_await store_call<PurgeReply>(executor, [&](auto& r) { return authority_->purge(request, r); }));
  }

  const std::unique_ptr<Store> authority_;
  const std::unique_ptr<OutcomeCache> cache_;
  const Clock& clock_;
  const TieredOptions options_;
  AuthorityTime time_;
};

}  // namespace

std::unique_ptr<Store> make_tiered_store(std::unique_ptr<Store> authority,
                                         std::unique_ptr<OutcomeCache> cache, const Clock& clock,
                                         TieredOptions options) {
  return std::make_unique<TieredStore>(std::move(authority), std::move(cache), clock, options);
}

}  // namespace onceward
