#include "stores/memory/memory_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/hex.hpp"
#include "core/scope.hpp"
#include "core/transition.hpp"

namespace onceward {
namespace {

constexpr std::size_t shard_count = 64;

struct HashByPrefix {
  std::size_t operator()(const Scope& scope) const { return scope_prefix(scope) / shard_count; }
};

// Only the prefix is set: finds the bucket of every scope that an operation id can stand for.
Scope scope_with_prefix(std::uint64_t prefix) {
  Scope scope;
  const std::uint64_t bits = prefix << 2;
  for (std::size_t i = 0; i < 8; ++i) scope.data[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  return scope;
}

std::size_t bytes_of(const Record& record) {
  std::size_t bytes = sizeof(Record) + 64;
  if (record.request) {
    bytes += sizeof(RequestInfo) + record.request->operation.size() + record.request->tenant.size();
    for (const Leaf& leaf : record.request->leaves) bytes += sizeof(Leaf) + leaf.pointer.size();
  }
  if (record.response)
    bytes += sizeof(Response) + record.response->headers.size() + record.response->body.size();
  return bytes;
}

// When a purge has something to do with this record.
std::optional<Timestamp> due_at(const Record& record) {
  if (record.state == State::succeeded || record.state == State::failed) return record.expires_at;
  return gone_at(record);
}

struct Due {
  Timestamp at;
  Scope scope;
  bool operator<(const Due& other) const { return at > other.at; }  // the earliest on top of the heap
};

class MemoryStore final : public Store {
 public:
  MemoryStore(const Clock& clock, MemoryOptions options) : clock_(clock), options_(options) {}

  bool claim(const ClaimRequest& request, Reply<ClaimReply>& reply) override {
    Shard& shard = shard_of(scope_prefix(request.scope));
    std::lock_guard lock(shard.mutex);
    const auto found = shard.records.find(request.scope);
    const Record* stored = found == shard.records.end() ? nullptr : &found->second;
    ClaimStep step = transition(stored, request, clock_.now());
    if (step.next && !stored && !has_room(shard)) {
      reply.value = Error{Errc::refused, "the memory store is full"};
      return true;
    }
    if (step.next) put(shard, found, std::move(*step.next));
    reply.value = std::move(step.reply);
    return true;
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
    const auto found = shard.records.find(scope);
    reply.value = found == shard.records.end() ? missing() : as_it_is_now(found->second);
    return true;
  }

  bool lookup(const OperationId& id, Reply<Record>& reply) override {
    const std::uint64_t prefix = scope_prefix(id);
    Shard& shard = shard_of(prefix);
    std::lock_guard lock(shard.mutex);
    reply.value = missing();
    if (shard.records.empty()) return true;
    const std::size_t bucket = shard.records.bucket(scope_with_prefix(prefix));
    for (auto it = shard.records.begin(bucket); it != shard.records.end(bucket); ++it) {
      if (it->second.operation_id == id) reply.value = as_it_is_now(it->second);
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
      Shard& shard = shards_[position->shard];
      std::lock_guard lock(shard.mutex);
      for (const Scope& scope : scopes_after(shard, position->after)) {
        std::optional<Record> record = settle(shard.records.at(scope), clock_.now());
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
    for (Shard& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      stats.records += shard.records.size();
      stats.bytes += shard.bytes;
      stats.open_records += shard.open;
      if (!shard.due.empty() && shard.due.front().at < now) {
        stats.purge_lag = std::max(stats.purge_lag, Duration(now - shard.due.front().at));
      }
    }
    reply.value = stats;
    return true;
  }

 private:
  using Map = std::unordered_map<Scope, Record, HashByPrefix>;
  struct alignas(64) Shard {
    // Most lookups are of keys that are not there yet; each record met on the way is a cache miss.
    Shard() { records.max_load_factor(0.25F); }
    std::mutex mutex;
    Map records;
    std::vector<Due> due;  // a heap; entries whose record has moved on are skipped
    std::size_t bytes = 0;
    std::size_t open = 0;
  };
  struct Position {
    std::size_t shard = 0;
    std::optional<Scope> after;
  };

  static Result<Record> missing() { return Error{Errc::not_found, "no such record"}; }
  static bool is_open(const Record& record) {
    return !is_final(record.state) && record.state != State::released;
  }

  Shard& shard_of(std::uint64_t prefix) { return shards_[prefix % shard_count]; }

  Result<Record> as_it_is_now(const Record& stored) const {
    std::optional<Record> record = settle(stored, clock_.now());
    return record ? Result<Record>(std::move(*record)) : missing();
  }

  // Scopes are hashes, so every shard fills alike and can watch its own share of the bytes.
  bool has_room(const Shard& shard) const {
    return records_.load(std::memory_order_relaxed) < options_.records_max &&
           shard.bytes < options_.bytes_max / shard_count;
  }

  template <class Event>
  bool apply(const Scope& scope, const Event& event, Reply<Record>& reply) {
    Shard& shard = shard_of(scope_prefix(scope));
    std::lock_guard lock(shard.mutex);
    const auto found = shard.records.find(scope);
    Step step = transition(found == shard.records.end() ? nullptr : &found->second, event, clock_.now());
    if (step.next) put(shard, found, std::move(*step.next));
    reply.value = std::move(step.reply);
    return true;
  }

  void put(Shard& shard, Map::iterator found, Record next) {
    shard.bytes += bytes_of(next);
    shard.open += is_open(next);
    if (const auto at = due_at(next)) {
      shard.due.push_back({*at, next.scope});
      std::push_heap(shard.due.begin(), shard.due.end());
    }
    if (found == shard.records.end()) {
      shard.records.emplace(next.scope, std::move(next));
      records_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    shard.bytes -= bytes_of(found->second);
    shard.open -= is_open(found->second);
    found->second = std::move(next);
  }

  void remove(Shard& shard, Map::iterator found) {
    shard.bytes -= bytes_of(found->second);
    shard.open -= is_open(found->second);
    shard.records.erase(found);
    records_.fetch_sub(1, std::memory_order_relaxed);
  }

  void purge_one(Shard& shard, Map::iterator found, const PurgeRequest& request, PurgeReply& reply) {
    switch (purge_action(found->second, request, clock_.now())) {
      case PurgeAction::keep:
        return;
      case PurgeAction::remove:
        ++reply.removed;
        return remove(shard, found);
      case PurgeAction::to_receipt:
        ++reply.receipts;
        return put(shard, found, receipt_of(found->second));
    }
  }

  // What is past its time, without looking at anything else.
  PurgeReply purge_due(const PurgeRequest& request) {
    PurgeReply reply;
    std::size_t looked_at = 0;
    for (Shard& shard : shards_) {
      std::lock_guard lock(shard.mutex);
      while (!shard.due.empty() && shard.due.front().at <= clock_.now()) {
        if (looked_at++ == request.chunk) {
          reply.cursor = "more";
          return reply;
        }
        const Scope scope = shard.due.front().scope;
        std::pop_heap(shard.due.begin(), shard.due.end());
        shard.due.pop_back();
        if (const auto found = shard.records.find(scope); found != shard.records.end()) {
          purge_one(shard, found, request, reply);
        }
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
      Shard& shard = shards_[position->shard];
      std::lock_guard lock(shard.mutex);
      for (const Scope& scope : scopes_after(shard, position->after)) {
        purge_one(shard, shard.records.find(scope), request, reply);
        if (++looked_at == request.chunk) {
          reply.cursor = to_hex(scope.data);
          return reply;
        }
      }
    }
    return reply;
  }

  static std::vector<Scope> scopes_after(const Shard& shard, const std::optional<Scope>& after) {
    std::vector<Scope> scopes;
    for (const auto& [scope, record] : shard.records) {
      if (!after || scope > *after) scopes.push_back(scope);
    }
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
  std::array<Shard, shard_count> shards_;
  std::atomic<std::size_t> records_{0};  // of all shards, for the limit
};

}  // namespace

std::unique_ptr<Store> make_memory_store(const Clock& clock, MemoryOptions options) {
  return std::make_unique<MemoryStore>(clock, options);
}

}  // namespace onceward
