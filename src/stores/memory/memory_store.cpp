#include "stores/memory/memory_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "base/hex.hpp"
#include "core/marks.hpp"
#include "core/reserved.hpp"
#include "core/scope.hpp"
#include "core/transition.hpp"
#include "stores/memory/due_list.hpp"
#include "stores/memory/mark_table.hpp"
#include "stores/memory/memory_outbox.hpp"
#include "stores/memory/packed_memory.hpp"
#include "stores/memory/record_table.hpp"

namespace onceward {
namespace {

using memory::CellArenas;
using memory::Due;
using memory::DueList;
using memory::MarkTable;
using memory::MemoryOutbox;
using memory::PackedMemory;
using memory::RecordTable;

constexpr std::size_t shard_count = CellArenas::shard_count;

// When a purge has something to do with this record.
std::optional<Timestamp> due_at(const Record& record) {
  if (record.state == State::succeeded || record.state == State::failed) return record.expires_at;
  return gone_at(record);
}

const Events* events_of(const CompleteRequest& event) { return event.events.get(); }
const Events* events_of(const ResolveRequest& event) { return event.events.get(); }
template <class Event>
const Events* events_of(const Event&) {
  return nullptr;
}

class MemoryStore final : public Store, OutboxStore {
 public:
  MemoryStore(const Clock& clock, MemoryOptions options) : clock_(clock), options_(options) {
    for (std::size_t i = 0; i < shard_count; ++i)
      shards_[i] = std::make_unique<Shard>(memory_, arenas_, i, shown_[i]);
  }

  bool claim(const ClaimRequest& request, Reply<ClaimReply>& reply) override {
    if (!request.request->marks.empty()) return claim_marked(request, reply);
    Shard& shard = shard_of(scope_prefix(request.scope));
    std::unique_lock lock(shard.mutex);
    const RecordTable::Found found = shard.records.find(request.scope);
    if (found.error()) {
      reply.value = *found.error();
      return true;
    }
    ClaimStep step = transition(found.get(), request, clock_.now());
    if (step.next && !left_marks(found.get(), *step.next).empty()) {
      lock.unlock();
      return claim_marked(request, reply);
    }
    if (step.next && !found && !has_room(shard, request)) {
      reply.value = full();
      return true;
    }
    if (step.next) put(shard, std::move(*step.next), !found);
    reply.value = std::move(step.reply);
    return true;
  }

  void expect(const Scope& scope) override {
    const std::size_t number = number_of(scope);
    RecordTable::fetch_ahead(shown_[number], scope);
    shards_[number]->fetch_ahead();
  }

  bool dispatch(const Fence& fence, Reply<Record>& reply) override {
    return apply(fence.scope, fence, reply);
  }
  bool renew(const RenewRequest& r, Reply<Record>& reply) override { return apply(r.fence.scope, r, reply); }
  bool complete(const CompleteRequest& r, Reply<Record>& reply) override {
    return apply(r.fence.scope, r, reply);
  }
  bool release(const ReleaseRequest& r, Reply<Record>& reply) override {
    return apply(r.fence.scope, r, reply);
  }
  bool unknown(const UnknownRequest& r, Reply<Record>& reply) override {
    return apply(r.fence.scope, r, reply);
  }
  bool resolve(const ResolveRequest& r, Reply<Record>& reply) override { return apply(r.scope, r, reply); }

  bool lookup(const Scope& scope, Reply<Record>& reply) override {
    Shard& shard = shard_of(scope_prefix(scope));
    std::lock_guard lock(shard.mutex);
    reply.value = as_it_is_now(shard.records.find(scope));
    return true;
  }

  bool lookup(const OperationId& id, Reply<Record>& reply) override {
    const std::uint64_t prefix = scope_prefix(id);
    Shard& shard = shard_of(prefix);
    std::lock_guard lock(shard.mutex);
    reply.value = missing();
    for (const Scope& scope : shard.records.scopes_of(prefix)) {
      const RecordTable::Found found = shard.records.find(scope);
      if (found.error() || found.get()->operation_id == id) reply.value = as_it_is_now(found);
    }
    return true;
  }

  // Pages in the order (shard, scope), which changes by others between two pages cannot disturb.
  bool list(const ListRequest& request, Reply<ListReply>& reply) override {
    ListReply page;
    std::optional<Position> position = parse_cursor(request.cursor);
    if (!position) {
      reply.value = Error{Errc::invalid, "the cursor is not one of this store's"};
      return true;
    }
    for (; position->shard < shard_count; position = Position{position->shard + 1, std::nullopt}) {
      Shard& shard = *shards_[position->shard];
      std::lock_guard lock(shard.mutex);
      for (const Scope& scope : scopes_after(shard, position->after)) {
        const RecordTable::Found found = shard.records.find(scope);
        if (found.error()) {
          reply.value = *found.error();
          return true;
        }
        std::optional<Record> record = settle(*found.get(), clock_.now());
        if (!record || !matches(request, *record)) continue;
        if (page.records.size() == request.limit) {
          page.cursor = to_hex(page.records.back().scope.data);
          reply.value = std::move(page);
          return true;
        }
        page.records.push_back(std::move(*record));
      }
    }
    reply.value = std::move(page);
    return true;
  }

  bool purge(const PurgeRequest& request, Reply<PurgeReply>& reply) override {
    const bool by_operator =
        request.final_too || request.operation || request.tenant || request.updated_before;
    reply.value = by_operator ? purge_by_scan(request) : purge_due(request);
    return true;
  }

  bool stats(Reply<StoreStats>& reply) override {
    StoreStats stats;
    const Timestamp now = clock_.now();
    for (const std::unique_ptr<Shard>& one : shards_) {
      Shard& shard = *one;
      std::lock_guard lock(shard.mutex);
      stats.records += shard.records.size();
      stats.bytes += shard.records.bytes() + shard.marks.bytes();
      stats.open_records += shard.records.open();
      if (const Due* due = shard.due.first(); due && due->at < now)
        stats.purge_lag = std::max(stats.purge_lag, Duration(now - due->at));
    }
    stats.bytes += outbox_.bytes();
    reply.value = stats;
    return true;
  }

  bool keeps_marks() const override { return true; }
  OutboxStore* outbox() override { return this; }

  bool fetch_events(const FetchEventsRequest& request, Reply<std::vector<PendingEvent>>& reply) override {
    reply.value = outbox_.fetch(request, clock_.now());
    return true;
  }
  bool settle_events(const SettleEventsRequest& request, Reply<std::size_t>& reply) override {
    Shard& shard = shard_of(scope_prefix(request.relay.scope));
    std::lock_guard lock(shard.mutex);
    const RecordTable::Found found = shard.records.find(request.relay.scope);
    const Timestamp now = clock_.now();
    const Result<Done> current = check_relay(found.get(), request.relay, now);
    if (found.error()) {
      reply.value = *found.error();
    } else if (!current) {
      reply.value = current.error();
    } else {
      reply.value = outbox_.settle(request, now);
    }
    return true;
  }
  bool list_events(const ListEventsRequest& request, Reply<ListEventsReply>& reply) override {
    reply.value = outbox_.list(request);
    return true;
  }
  bool retry_events(const RetryEventsRequest& request, Reply<std::size_t>& reply) override {
    reply.value = outbox_.retry(request, clock_.now());
    return true;
  }
  bool outbox_stats(Reply<OutboxStats>& reply) override {
    reply.value = outbox_.stats();
    return true;
  }

 private:
  struct alignas(64) Shard {
    Shard(PackedMemory& memory, CellArenas& arenas, std::size_t number, RecordTable::Shown& shown)
        : records(memory, arenas, number, shown) {}
    // What each verb touches: there are as many shards as requests under way, so it is in no near cache.
    void fetch_ahead() const {
      __builtin_prefetch(&mutex, 1);
      __builtin_prefetch(&records, 1);
      __builtin_prefetch(&due, 1);
    }
    std::mutex mutex;
    DueList due;  // entries whose record has moved on are skipped
    RecordTable records;
    MarkTable marks;
  };
  using ShardNumbers = std::set<std::size_t>;
  // Several shards at once, always in the order of their numbers.
  class ShardLocks {
   public:
    ShardLocks(MemoryStore& store, const ShardNumbers& numbers) {
      for (const std::size_t number : numbers) locks_.emplace_back(store.shards_[number]->mutex);
    }

   private:
    std::vector<std::unique_lock<std::mutex>> locks_;
  };
  struct Position {
    std::size_t shard = 0;
    std::optional<Scope> after;
  };

  static Result<Record> missing() { return Error{Errc::not_found, "no such record"}; }
  static Error full() { return {Errc::refused, "the memory store is full"}; }
  Shard& shard_of(std::uint64_t prefix) { return *shards_[prefix % shard_count]; }
  static std::size_t number_of(const Scope& scope) { return scope_prefix(scope) % shard_count; }
  MarkTable& marks_of(const Scope& scope) { return shards_[number_of(scope)]->marks; }

  Result<Record> as_it_is_now(const RecordTable::Found& found) const {
    if (!found) return missing();
    if (found.error()) return *found.error();
    std::optional<Record> record = settle(*found.get(), clock_.now());
    return record ? Result<Record>(std::move(*record)) : missing();
  }

  // Scopes are hashes, so every shard fills alike and can watch its own share of the bytes. Onceward's own
  // few records always fit: the relay among them, which makes room.
  bool has_room(const Shard& shard, const ClaimRequest& request) const {
    const std::size_t bytes = shard.records.bytes() + shard.marks.bytes() + outbox_.bytes() / shard_count;
    return (records_.load(std::memory_order_relaxed) < options_.records_max &&
            bytes < options_.bytes_max / shard_count) ||
           is_reserved_operation(request.request->operation);
  }

  // One step over the shards of the record, of its marks and of those who hold them. Who holds a mark is
  // known only once its shard is locked: then everything begins again with the holder's shard too.
  bool claim_marked(const ClaimRequest& request, Reply<ClaimReply>& reply) {
    ShardNumbers numbers{number_of(request.scope)};
    for (const Mark& mark : request.request->marks) numbers.insert(number_of(mark.scope));
    for (bool done = false; !done;) {
      const ShardLocks locks(*this, numbers);
      const std::size_t before = numbers.size();
      for (const Mark& mark : request.request->marks)
        if (const MarkEntry* entry = marks_of(mark.scope).find(mark.scope))
          numbers.insert(number_of(entry->holder.scope));
      if (const RecordTable::Found stands = find_locked(request.scope); stands.get())
        for (const Mark& mark : stands.get()->request->marks) numbers.insert(number_of(mark.scope));
      done = numbers.size() == before;
      if (done) reply.value = claim_locked(request);
    }
    return true;
  }

  Result<ClaimReply> claim_locked(const ClaimRequest& request) {
    Shard& shard = shard_of(scope_prefix(request.scope));
    const RecordTable::Found found = shard.records.find(request.scope);
    if (found.error()) return *found.error();
    std::vector<RecordTable::Found> holders;
    holders.reserve(request.request->marks.size());  // what is seen of them points into them
    std::vector<MarkSeen> seen;
    for (const Mark& mark : request.request->marks) {
      const MarkEntry* entry = marks_of(mark.scope).find(mark.scope);
      holders.push_back(entry ? find_locked(entry->holder.scope) : RecordTable::Found());
      if (holders.back().error()) return *holders.back().error();
      seen.push_back({&mark, entry, holders.back().get()});
    }
    const Timestamp now = clock_.now();
    MarkedClaim claim = take_marks(transition(found.get(), request, now), seen, now);
    if (claim.step.next && !found && !has_room(shard, request)) return full();
    if (claim.step.next) {
      for (const Mark& mark : left_marks(found.get(), *claim.step.next)) {
        MarkTable& marks = marks_of(mark.scope);
        change(marks, mark, leave_mark(mark, marks.find(mark.scope), *claim.step.next, now));
      }
      put(shard, std::move(*claim.step.next), !found);
    }
    for (const MarkEntry& entry : claim.taken) marks_of(entry.scope).put(entry);
    return std::move(claim.step.reply);
  }

  RecordTable::Found find_locked(const Scope& scope) {
    return shards_[number_of(scope)]->records.find(scope);
  }

  template <class Event>
  bool apply(const Scope& scope, const Event& event, Reply<Record>& reply) {
    ShardNumbers numbers;
    {
      Shard& shard = shard_of(scope_prefix(scope));
      std::lock_guard lock(shard.mutex);
      if (apply_locked(shard, scope, event, reply, numbers)) return true;
    }
    for (;;) {
      const ShardLocks locks(*this, numbers);
      if (apply_locked(shard_of(scope_prefix(scope)), scope, event, reply, numbers)) return true;
    }
  }

  // False: nothing was done, because the marks that this ends are in shards that are not locked;
  // `numbers` then has them.
  template <class Event>
  bool apply_locked(Shard& shard, const Scope& scope, const Event& event, Reply<Record>& reply,
                    ShardNumbers& numbers) {
    const RecordTable::Found found = shard.records.find(scope);
    if (found.error()) {
      reply.value = *found.error();
      return true;
    }
    const Timestamp now = clock_.now();
    Step step = transition(found.get(), event, now);
    if (step.next) {
      if (ends_marks(*step.next)) {
        if (!covers_marks(*step.next, numbers)) return false;
        end_marks(*step.next, now);
      }
      if (const Events* events = events_of(event)) outbox_.add(*step.next, *events, now);
      put(shard, std::move(*step.next), false);
    }
    reply.value = std::move(step.reply);
    return true;
  }

  static bool covers_marks(const Record& record, ShardNumbers& numbers) {
    const std::size_t before = numbers.size();
    numbers.insert(number_of(record.scope));
    for (const Mark& mark : record.request->marks) numbers.insert(number_of(mark.scope));
    return numbers.size() == before;
  }

  void end_marks(const Record& next, Timestamp now) {
    for (const Mark& mark : next.request->marks) {
      MarkTable& marks = marks_of(mark.scope);
      change(marks, mark, end_mark(mark, marks.find(mark.scope), next, now));
    }
  }

  static void change(MarkTable& marks, const Mark& mark, const MarkStep& step) {
    if (step.change == MarkChange::write) marks.put(step.entry);
    if (step.change == MarkChange::drop) marks.remove(mark.scope);
  }

  void put(Shard& shard, Record&& next, bool is_new) {
    if (const auto at = due_at(next)) shard.due.add({*at, scope_prefix(next.scope)});
    shard.records.put(std::move(next));
    if (is_new) records_.fetch_add(1, std::memory_order_relaxed);
  }

  void purge_one(Shard& shard, const Scope& scope, const PurgeRequest& request, PurgeReply& reply) {
    const RecordTable::Found found = shard.records.find(scope);
    if (found.error()) return;  // unreadable is not gone (I5)
    switch (purge_action(*found.get(), request, clock_.now())) {
      case PurgeAction::keep:
        return;
      case PurgeAction::remove:
        ++reply.removed;
        shard.records.remove(scope);
        records_.fetch_sub(1, std::memory_order_relaxed);
        return;
      case PurgeAction::to_receipt:
        ++reply.receipts;
        return put(shard, receipt_of(*found.get()), false);
    }
  }

  // What is past its time, without looking at anything else.
  PurgeReply purge_due(const PurgeRequest& request) {
    PurgeReply reply;
    std::size_t looked_at = 0;
    for (const std::unique_ptr<Shard>& one : shards_) {
      Shard& shard = *one;
      std::lock_guard lock(shard.mutex);
      for (const Due* due = shard.due.first(); due && due->at <= clock_.now(); due = shard.due.first()) {
        if (looked_at++ == request.chunk) {
          reply.cursor = "more";
          return reply;
        }
        const std::uint64_t prefix = due->prefix;
        shard.due.drop_first();
        for (const Scope& scope : shard.records.scopes_of(prefix)) purge_one(shard, scope, request, reply);
      }
      looked_at += shard.marks.purge(clock_.now(), request.chunk - looked_at);
      if (looked_at == request.chunk) {
        reply.cursor = "more";
        return reply;
      }
    }
    return reply;
  }

  Result<PurgeReply> purge_by_scan(const PurgeRequest& request) {
    PurgeReply reply;
    std::size_t looked_at = 0;
    std::optional<Position> position = parse_cursor(request.cursor);
    if (!position) return Error{Errc::invalid, "the cursor is not one of this store's"};
    for (; position->shard < shard_count; position = Position{position->shard + 1, std::nullopt}) {
      Shard& shard = *shards_[position->shard];
      std::lock_guard lock(shard.mutex);
      for (const Scope& scope : scopes_after(shard, position->after)) {
        purge_one(shard, scope, request, reply);
        if (++looked_at == request.chunk) {
          reply.cursor = to_hex(scope.data);
          return reply;
        }
      }
    }
    return reply;
  }

  static std::vector<Scope> scopes_after(const Shard& shard, const std::optional<Scope>& after) {
    std::vector<Scope> scopes = shard.records.scopes();
    std::erase_if(scopes, [&](const Scope& scope) { return after && scope <= *after; });
    std::sort(scopes.begin(), scopes.end());
    return scopes;
  }

  // A cursor is the last scope of the page before it; the scope also tells the shard.
  static std::optional<Position> parse_cursor(std::string_view text) {
    if (text.empty()) return Position{};
    Scope after;
    if (!from_hex(text, after.data)) return std::nullopt;
    return Position{scope_prefix(after) % shard_count, after};
  }

  const Clock& clock_;
  const MemoryOptions options_;
  PackedMemory memory_;
  CellArenas arenas_;
  std::array<RecordTable::Shown, shard_count> shown_;
  std::array<std::unique_ptr<Shard>, shard_count> shards_;
  std::atomic<std::size_t> records_{0};  // of all shards, for the limit
  MemoryOutbox outbox_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(const Clock& clock, MemoryOptions options) {
  return std::make_unique<MemoryStore>(clock, options);
}

}  // namespace onceward
