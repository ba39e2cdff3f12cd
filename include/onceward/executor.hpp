// Executor, Clock and Random: the only ways in which Onceward learns of time, chance and threads.
// The proxy gives each worker thread one Executor; the simulation runs everything on one fake one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace onceward {

using Duration = std::chrono::milliseconds;
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;  // what records carry
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  // Time since 1970. It may be derived from a monotonic clock; it must not be used to measure.
  virtual Timestamp now() const = 0;
  // Never goes back and never jumps; deadlines and leases are measured on it.
  virtual MonoTime mono() const = 0;
  // What now() said at a moment of mono() that has just been measured: spares asking again.
  virtual Timestamp at(MonoTime) const { return now(); }
};

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::uint8_t> bytes) = 0;  // unpredictable; callable from any thread
};

// Something that is to be called once on an executor's thread. It is an intrusive list node, owned by
// whoever waits (usually a coroutine frame), so that posting allocates nothing and one wake-up can
// carry a whole commit batch.
struct Completion {
  Completion* next = nullptr;
  void (*run)(Completion*) = nullptr;
};

// A one-shot timer, owned by whoever waits; must be cancelled or fired before it is destroyed.
struct Timer {
  void (*run)(Timer*) = nullptr;
  MonoTime at{};
  std::size_t heap_slot = npos;  // the executor's; npos when not armed
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  bool armed() const { return heap_slot != npos; }
};

// Something that is to be called once on an executor's thread after everything that is ready. Owned by
// whoever defers it; it must have run, or been taken back, before it is destroyed.
struct Deferred {
  Deferred* next = nullptr;
  void (*run)(Deferred*) = nullptr;
  bool pending = false;
};

// What an executor that can defer needs to do so; its own thread only.
class DeferredList {
 public:
  bool empty() const { return !first_; }
  void add(Deferred& deferred) {
    if (!std::exchange(deferred.pending, true)) deferred.next = std::exchange(first_, &deferred);
  }
  void remove(Deferred& deferred) {
    if (!std::exchange(deferred.pending, false)) return;
    Deferred** at = &first_;
    while (*at != &deferred) at = &(*at)->next;
    *at = deferred.next;
  }
  void run() {
    while (first_) {
      Deferred* const current = std::exchange(first_, first_->next);
      current->pending = false;
      current->run(current);
    }
  }

 private:
  Deferred* first_ = nullptr;
};

// Somebody who wants to hear from an executor that a file has something to read; owned by whoever listens.
// Both are called on the executor's thread.
struct FileWatch {
  void (*run)(FileWatch*) = nullptr;    // there may be something
  void (*ended)(FileWatch*) = nullptr;  // the thread is about to end; nothing more will be heard

  class Node {  // the executor's side, which may outlive it
   public:
    virtual ~Node() = default;
    virtual void cut_off() = 0;
  };
  std::shared_ptr<Node> node;
  // Any thread, before the watch and its file are gone; neither call is under way when this returns.
  void stop() {
    if (node) node->cut_off();
  }
};

// What somebody is about to send who waits for the end of a round. Requests go first: whoever gets one works
// while the answers are being sent.
enum class Leaving : std::uint8_t { request, answer };

class Executor {
 public:
  virtual ~Executor() = default;
  // Any thread. Runs the chain of completions (linked by `next`) in order on this executor's thread.
  virtual void post(Completion* first) = 0;
  // Only on this executor's thread.
  virtual void arm(Timer& timer, MonoTime at) = 0;  // re-arming moves it
  virtual void cancel(Timer& timer) = 0;            // harmless when not armed
  // Runs it when everybody has heard what has come so far, so that what they have to send leaves together.
  // Only on this executor's thread; false: it knows of no rounds, and nothing is kept.
  virtual bool at_round_end(Completion&, Leaving) { return false; }
  // Only where can_defer() says so: on this executor's thread, if it knows when it has nothing to do. Runs it
  // when nothing is ready any more, or a moment later if there is always something; once, however often it
  // is asked for.
  virtual bool can_defer() const { return false; }
  virtual void defer(Deferred&) {}
  virtual void undefer(Deferred&) {}  // harmless when not deferred
  // Only where can_defer() says so; false: it cannot. Whoever can must keep its loop going: what was begun by
  // one who watches ends for everybody when that one hears of it.
  virtual bool watch(int, FileWatch&) { return false; }
};

}  // namespace onceward
