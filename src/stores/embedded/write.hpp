// Write: one entry on its way into the log, from the verb that decided it to the sync that makes it
// true. Its scope has at most one: later verbs on that scope wait behind it, so that nobody is told of
// a state that a power cut could still take back. What must become true together (a record and its marks,
// an outcome and its events) is one write with parts, which goes into one batch.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "onceward/store.hpp"
#include "stores/embedded/log_format.hpp"
#include "stores/embedded/slot.hpp"

namespace onceward::embedded {

enum class Verb : std::uint8_t {
  claim,
  dispatch,
  renew,
  complete,
  release,
  unknown,
  resolve,
  adopt,
  adopt_mark,
  lookup,
  lookup_id,
  settle_events,
  retry_events
};

// A verb that waits for a write on the same scope; its request lives until its reply.
struct Waiter {
  Verb verb;
  const void* request;
  Completion* reply;
  Executor* executor;
};

// Several writes that one job waits for.
class WriteGroup {
 public:
  void add(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ++left_;
    bytes_ += bytes;
  }
  // Waits when much is on its way: traffic shares its batches, and should not wait for a large one.
  bool keep_pace() {
    {
      const std::lock_guard lock(mutex_);
      if (bytes_ < pace_bytes) return !failed_;
    }
    return wait();
  }
  void done(bool written) {
    const std::lock_guard lock(mutex_);
    failed_ |= !written;
    if (--left_ == 0) none_left_.notify_all();
  }
  bool wait() {  // false: some were not written
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return left_ == 0; });
    bytes_ = 0;
    return !failed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  static constexpr std::size_t pace_bytes = 32 << 10;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
  bool failed_ = false;
};

struct Write {
  // What the writer reads of each stands together: it may have been written on another core.
  Write* next = nullptr;
  std::string bytes;  // the whole entry
  EntryKind kind = EntryKind::record;
  Role role = Role::record;
  bool gives_way = false;  // a new claim: refused when room is short, so that outcomes still fit
  int records_change = 0;  // to the number of records in the store
  std::vector<std::unique_ptr<Write>> parts;
  Scope scope;
  Slot slot;                       // what the index will have of it; its offset is known when it is written
  std::unique_ptr<Record> record;  // for EntryKind::record; once encoded, only if it stays open
  Completion* reply = nullptr;
  Executor* executor = nullptr;
  std::vector<Waiter> waiting;        // guarded by the shard's mutex
  std::unique_ptr<QueuedRef> queued;  // an event's: what its queue will have of it
  WriteGroup* group = nullptr;
  void (*fail)(Completion* reply, const Error& error) = nullptr;

  std::size_t all_bytes() const {
    std::size_t all = bytes.size();
    for (const std::unique_ptr<Write>& part : parts) all += part->bytes.size();
    return all;
  }

  // It may come from another core: all that the writer will read of it.
  void prefetch() const {
    __builtin_prefetch(bytes.data());
    __builtin_prefetch(&scope);
    __builtin_prefetch(&reply);
  }

  // For another use: nothing is held on to but the room of `bytes`. What every use sets stays as it is.
  void reset() {
    bytes.clear();
    kind = EntryKind::record;
    role = Role::record;
    gives_way = false;
    records_change = 0;
    parts.clear();
    record.reset();
    reply = nullptr;
    executor = nullptr;
    waiting.clear();
    queued.reset();
    group = nullptr;
    fail = nullptr;
  }
};

// The entry of a record, and what the index will have of it.
void encode_record(const Record& record, Write& write);
// The entry of what the write brings. Of its record it keeps what is open: the rest is read from disk from
// now on.
void encode(Write& write);

// Writes and open records to be used again, the writes with the room that their bytes have: each would
// otherwise be taken from one thread's heap and often given back by another. Guarded by its shard's
// mutex.
class WritePool {
 public:
  std::unique_ptr<Write> take() { return take_from(writes_); }
  std::unique_ptr<Record> take_record() { return take_from(records_); }
  void give(std::unique_ptr<Write> write) {
    if (writes_.size() >= spare_max || write->bytes.capacity() > bytes_max) return;
    write->reset();
    writes_.push_back(std::move(write));
  }
  void give(std::unique_ptr<Record> record) {
    if (!record || records_.size() >= spare_max) return;
    record->request.reset();
    record->response.reset();
    record->result.reset();
    records_.push_back(std::move(record));
  }

 private:
  static constexpr std::size_t spare_max = 64;
  static constexpr std::size_t bytes_max = 16 << 10;

  template <class T>
  static std::unique_ptr<T> take_from(std::vector<std::unique_ptr<T>>& spare) {
    if (spare.empty()) return std::make_unique<T>();
    std::unique_ptr<T> taken = std::move(spare.back());
    spare.pop_back();
    return taken;
  }

  std::vector<std::unique_ptr<Write>> writes_;
  std::vector<std::unique_ptr<Record>> records_;
};

// Replies on their way back, one chain per executor: a commit batch wakes each worker once.
class Wakeups {
 public:
  void add(Executor* executor, Completion* reply) {
    reply->next = nullptr;
    for (Chain& chain : chains_) {
      if (chain.executor != executor) continue;
      chain.last->next = reply;
      chain.last = reply;
      return;
    }
    chains_.push_back({executor, reply, reply});
  }
  void post() {
    for (const Chain& chain : chains_) chain.executor->post(chain.first);
    chains_.clear();
  }

 private:
  struct Chain {
    Executor* executor;
    Completion* first;
    Completion* last;
  };
  std::vector<Chain> chains_;
};

}  // namespace onceward::embedded
