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
#include "stores/embedded/internal_record.hpp"
#include "stores/embedded/log_format.hpp"

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
  Write* next = nullptr;
  EntryKind kind = EntryKind::record;
  Role role = Role::record;
  Scope scope;
  Record record;             // for EntryKind::record
  std::string bytes;         // the whole entry
  std::uint32_t offset = 0;  // where it went
  bool gives_way = false;    // a new claim: refused when room is short, so that outcomes still fit
  int records_change = 0;    // to the number of records in the store
  Completion* reply = nullptr;
  Executor* executor = nullptr;
  void (*fail)(Completion* reply, const Error& error) = nullptr;
  WriteGroup* group = nullptr;
  std::vector<Waiter> waiting;  // guarded by the shard's mutex
  std::vector<std::unique_ptr<Write>> parts;
  std::unique_ptr<QueuedRef> queued;  // an event's: what its queue will have of it

  std::size_t all_bytes() const {
    std::size_t all = bytes.size();
    for (const std::unique_ptr<Write>& part : parts) all += part->bytes.size();
    return all;
  }

  // For another use: nothing is held on to but the room of `bytes`. What every use sets stays as it is.
  void reset() {
    kind = EntryKind::record;
    role = Role::record;
    record.request.reset();
    record.response.reset();
    bytes.clear();
    gives_way = false;
    records_change = 0;
    reply = nullptr;
    executor = nullptr;
    fail = nullptr;
    group = nullptr;
    waiting.clear();
    parts.clear();
    queued.reset();
  }
};

// Writes to be used again, with the room that their bytes have: each would otherwise be taken from the
// worker's heap and given back by the writer's thread. Guarded by its shard's mutex.
class WritePool {
 public:
  std::unique_ptr<Write> take() {
    if (spare_.empty()) return std::make_unique<Write>();
    std::unique_ptr<Write> write = std::move(spare_.back());
    spare_.pop_back();
    return write;
  }
  void give(std::unique_ptr<Write> write) {
    if (spare_.size() >= spare_max || write->bytes.capacity() > bytes_max) return;
    write->reset();
    spare_.push_back(std::move(write));
  }

 private:
  static constexpr std::size_t spare_max = 64;
  static constexpr std::size_t bytes_max = 16 << 10;
  std::vector<std::unique_ptr<Write>> spare_;
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
