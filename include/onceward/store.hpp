// Store: eight verbs, the same words in SQL, Lua, metrics, logs and docs. A store keeps records and
// decides, atomically and by its own clock, what `transition` says about them.
//
// Calling: a verb takes its request by reference (it must live until the reply) and a Reply. It either
// fills the reply and returns true (done at once), or returns false and later posts the reply, filled,
// on the reply's executor, exactly once. Verbs may be called from any thread.
//
// Errors: Errc::unavailable means that the write may or may not have happened: look it up by owner
// before deciding (I10). Errc::refused means that nothing was written. Errc::unreadable is a record
// that exists and cannot be read: never a miss (I5). Errc::stale and Errc::conflict changed nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "onceward/executor.hpp"
#include "onceward/result.hpp"
#include "onceward/values.hpp"

namespace onceward {

template <class T>
struct Reply : Completion {
  explicit Reply(Executor& where) : executor(&where) {}
  Executor* executor;
  Result<T> value{Error{Errc::unavailable, "no reply"}};
};

struct ClaimRequest {
  Scope scope;
  OperationId operation_id;  // used when this is the record's first claim
  OwnerNonce owner;
  State start = State::processing;  // or State::claimed: provably nothing sent until dispatch
  Fingerprint fingerprint;
  std::shared_ptr<const RequestInfo> request;
  Duration lease{};
  Duration max_hold{};
  Duration ttl{};
  Duration receipt_ttl{};
  bool take_unknown = false;  // on_unknown: forward
};

struct ClaimReply {
  bool granted = false;
  Record record;  // granted: mine. Otherwise the one that stands, as it is now (leases and ttl applied)
  // A mark of another record that the claim met. Not granted: it refused, and `record` is empty (epoch 0).
  std::optional<MarkHolder> standing{};
};

struct RenewRequest {
  Fence fence;
  Duration lease{};
};

struct CompleteRequest {
  Fence fence;
  State as = State::succeeded;  // or State::failed
  std::shared_ptr<const Response> response;
  std::optional<Duration> ttl;  // overrides the claim's
  std::shared_ptr<const OperationResult> result{};
  std::shared_ptr<const Events> events{};  // written with the outcome, once; null: none
};

struct ReleaseRequest {
  Fence fence;
  bool unbind = false;  // provably never sent: another request may take the key
};

struct UnknownRequest {
  Fence fence;
  Evidence evidence;
};

struct ResolveRequest {
  Scope scope;
  OperationId operation_id;
  Epoch epoch = 0;              // expected; a changed record refuses
  State as = State::succeeded;  // succeeded, failed or released
  std::shared_ptr<const Response> response;
  std::shared_ptr<const OperationResult> result{};
  std::shared_ptr<const Events> events{};  // as in CompleteRequest
};

struct ListRequest {
  std::optional<State> state;
  std::optional<std::string> operation;
  std::optional<std::string> tenant;
  std::optional<Timestamp> updated_before;
  std::size_t limit = 100;
  std::string cursor;  // empty: from the start; otherwise from an earlier reply
  std::optional<std::string> reference{};
};

struct ListReply {
  std::vector<Record> records;  // without response bodies' copies: responses are shared
  std::string cursor;           // empty: no more
};

struct PurgeRequest {
  std::size_t chunk = 1000;  // at most so many records are looked at in one step
  std::string cursor;        // where the last step stopped; empty: from the start
  // By default only what is past its time goes. An operator's purge names final records of any age.
  bool final_too = false;
  std::optional<std::string> operation;
  std::optional<std::string> tenant;
  std::optional<Timestamp> updated_before;
};

struct PurgeReply {
  std::size_t removed = 0;
  std::size_t receipts = 0;  // records that became receipts
  std::string cursor;        // empty: the pass is over
};

struct StoreStats {
  std::uint64_t records = 0;
  std::uint64_t open_records = 0;  // claimed, processing or unknown
  std::uint64_t bytes = 0;
  Duration purge_lag{};  // how long the oldest record that should be gone is overdue
};

class OutboxStore;

class Store {
 public:
  virtual ~Store() = default;

  // Inserts, or takes over what may run again, or returns the record that stands. Idempotent by owner.
  virtual bool claim(const ClaimRequest&, Reply<ClaimReply>&) = 0;
  // A claim of this scope is likely to be asked for next. Changes nothing: a store may use the time.
  virtual void expect(const Scope&) {}
  // claimed → processing, while the lease lives.
  virtual bool dispatch(const Fence&, Reply<Record>&) = 0;
  // Extends the lease from now, never beyond hold_until.
  virtual bool renew(const RenewRequest&, Reply<Record>&) = 0;
  // Stores the outcome. Accepted from claimed, processing and unknown of this epoch and owner.
  virtual bool complete(const CompleteRequest&, Reply<Record>&) = 0;
  // Provably no effect: the key may run again.
  virtual bool release(const ReleaseRequest&, Reply<Record>&) = 0;
  // The owner says that it cannot know.
  virtual bool unknown(const UnknownRequest&, Reply<Record>&) = 0;
  // An operator's or a probe's word; by epoch, fences the owner out.
  virtual bool resolve(const ResolveRequest&, Reply<Record>&) = 0;
  // The record as it is now, or Errc::not_found.
  virtual bool lookup(const Scope&, Reply<Record>&) = 0;
  virtual bool lookup(const OperationId&, Reply<Record>&) = 0;
  virtual bool list(const ListRequest&, Reply<ListReply>&) = 0;
  virtual bool purge(const PurgeRequest&, Reply<PurgeReply>&) = 0;
  virtual bool stats(Reply<StoreStats>&) = 0;

  // Calls `changed` (any thread) when a record of this scope may have left claimed/processing, until
  // unwatched; after unwatch returns it is never called. One watch per scope and process at a time. A
  // wake-up may be lost, so whoever watches also asks now and then; the default loses all of them.
  virtual void watch(const Scope&, std::function<void()> changed) { (void)changed; }
  virtual void unwatch(const Scope&) {}

  // Whether claims may carry marks: not where a record and its marks cannot change in one step.
  virtual bool keeps_marks() const { return false; }
  // Where the events written with outcomes wait for the relay; null: this store keeps none, and outcomes
  // must not carry any.
  virtual OutboxStore* outbox() { return nullptr; }
  // Whether a service may finish an operation itself, inside a transaction of its own in this store's
  // database, by a token that it was handed with the request (core/transaction_token.hpp).
  virtual bool serves_transactions() const { return false; }
};

}  // namespace onceward
