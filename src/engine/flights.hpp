// Flights: the in-process table of keys at work. The first request of a key leads its flight and talks
// to the store; the others follow it and are pushed what it learned, so that a thousand duplicates of
// one key cost one store read. Any thread; everybody is resumed on their own executor.
#pragma once

#include <array>
#include <coroutine>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "engine/outcome.hpp"
#include "onceward/executor.hpp"
#include "onceward/values.hpp"

namespace onceward {

// How a flight ended, for those who waited on it.
struct Settled {  // the record as it now stands: each waiter compares its own request with it
  Record record;
};
struct Again {};  // nothing stands in the way any more: ask from the top
struct TimeUp {   // this waiter's patience is over; the record as last seen
  Record record;
};
using News = std::variant<std::monostate, Settled, Again, TimeUp, Outcome>;

// What the followers of a flight that ends are told. Copied for each of them, and mostly there are none.
struct Ending {
  const Record* settled = nullptr;
  const Outcome* outcome = nullptr;  // neither: Again

  News news() const;
};

class Flights;

// Who waits to hear that a key at work elsewhere has changed. Told to look, it asks the store now. Any
// thread, but only between Flights::watches and Flights::looks.
class Lookout {
 public:
  virtual void look() = 0;

 protected:
  ~Lookout() = default;
};

// One caller that waits on a flight; lives in its coroutine's frame. co_await it once after joining.
class Waiter : Completion {
 public:
  // `may_wait`: the deadline is still ahead.
  Waiter(Executor& executor, const Fingerprint& fingerprint, MonoTime deadline, bool may_wait);

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting);
  News& await_resume() { return news_; }

 private:
  friend class Flights;
  struct Alarm : Timer {
    Waiter* waiter = nullptr;
  };

  static void on_posted(Completion* self);
  static void on_alarm(Timer* alarm);
  bool has_news() const { return !std::holds_alternative<std::monostate>(news_); }
  bool differs_from(const Record& record) const;

  Executor& executor_;
  const Fingerprint fingerprint_;
  const MonoTime deadline_;
  Alarm alarm_;
  std::coroutine_handle<> waiting_;
  Flights* flights_ = nullptr;
  class Flight* led_ = nullptr;  // the flight it leads, while it waits for news
  bool follows_ = false;         // set once, by join
  Scope scope_;
  // Guarded by the flight's shard, for followers:
  Waiter* previous_ = nullptr;
  Waiter* next_ = nullptr;
  bool linked_ = false;
  bool may_wait_;
  bool is_up_to_date_ = false;  // the store has said what the key is doing since this one came
  News news_;
};

// A key at work; lives in the frame of the coroutine that works for it.
class Flight {
 public:
  explicit Flight(const Scope& scope) : scope_(scope) {}
  // What in_progress() was told last; for the coroutine that works for it.
  const Record& record() const { return record_; }

 private:
  friend class Flights;
  const Scope scope_;
  Waiter* leader_ = nullptr;  // only touched on the leader's thread; null once it was told
  // Guarded by the shard:
  Flight* next_ = nullptr;
  Waiter* followers_ = nullptr;
  bool known_ = false;  // `record_` says what the key is doing
  bool runs_here_ = false;
  bool will_look_ = false;  // the store is asked again before `record_` is what it was
  Lookout* lookout_ = nullptr;
  bool leader_left_ = false;  // its time was up
  Record record_;
};

class Flights {
 public:
  explicit Flights(const Clock& clock) : clock_(clock) {}

  enum class Joined { leads, follows, told };
  // Follows the flight of this scope if there is one, else begins `flight` with the waiter leading.
  Joined join(Flight& flight, Waiter& waiter);
  // Sends for what join() will look at.
  void expect(const Scope& scope) {
    Shard& shard = shard_of(scope);
    __builtin_prefetch(&shard.mutex, 1);
    __builtin_prefetch(&chain_of(shard, scope), 1);
  }

  // Begins a flight that nobody leads, unless the key is at work already.
  bool begin(Flight& flight);

  // The rest is for the coroutine that works for the flight, on the leader's thread.

  // The key is in progress: followers that differ from it or have no time to wait are told now.
  void in_progress(Flight& flight, Record record, bool here);
  // What was said of the key is no longer so: who joins from now on waits for what comes next.
  void changes(Flight& flight);
  // The leader has to wait like everybody else: the key is in progress elsewhere.
  void leader_waits(Flight& flight);
  // From here to `looks`, `lookout` sleeps until the key changes. Nobody who came meanwhile is turned away
  // without a new look at the store, which may know better by then; and it is told to look when the last one
  // has left.
  void watches(Flight& flight, Lookout& lookout);
  void looks(Flight& flight);
  // The leader asks for the key again: it stays for what comes of it, however long that takes, because
  // nobody who was told to come back may execute afterwards.
  void leader_stays(Flight& flight);
  // Tells the leader its outcome; the flight goes on.
  template <class As, class Told>
  void tell_leader(Flight& flight, Told&& told) {
    Waiter* leader = std::exchange(flight.leader_, nullptr);
    if (!leader) return;
    leader->led_ = nullptr;
    leader->news_.template emplace<As>(std::forward<Told>(told));
    leader->executor_.cancel(leader->alarm_);
    if (leader->waiting_) leader->waiting_.resume();
  }
  // The flight leaves the table and every follower is told. A flight ends once; again is harmless.
  void end(Flight& flight, const Ending& ending);
  bool has_waiters(const Flight& flight);
  bool has_leader(const Flight& flight) const { return flight.leader_ != nullptr; }

  std::size_t size() const;
  // The claims that this process is working on.
  std::vector<Record> running_here() const;

 private:
  friend class Waiter;
  // Scopes are hashes, so their bytes choose shard and chain. A flight is its own list node: beginning one
  // allocates nothing.
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::array<Flight*, 64> chains{};
    std::size_t size = 0;
  };

  static Flight*& chain_of(Shard& shard, const Scope& scope) {
    return shard.chains[scope.data.front() % shard.chains.size()];
  }
  Shard& shard_of(const Scope& scope) { return shards_[scope.data.back() % shards_.size()]; }
  // Where the pointer to the flight of this scope is, or would be.
  static Flight** place_of(Shard& shard, const Scope& scope);
  void time_up(Waiter& waiter);

  const Clock& clock_;
  std::array<Shard, 64> shards_;
};

}  // namespace onceward
