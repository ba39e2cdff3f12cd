// Rounds: what a worker writes while it goes through its events is handed to the log in one go, when the
// worker has nothing else to do or has kept the disk waiting long enough. A write that began with the first
// of them would take that one alone, and the others would wait for a sync that is not theirs; a busy worker
// would pay for many syncs where one does. So it also waits with a turn that it has. One slot for each
// executor that can defer, kept for good; what is in a slot is touched by its executor's thread only. A slot
// is deferred only while verbs wait for it or it has the turn: nobody can have closed the store by then.
#pragma once

#include <atomic>
#include <deque>
#include <utility>

#include "stores/embedded/own_ring.hpp"
#include "stores/embedded/write.hpp"

namespace onceward::embedded {

class Rounds {
 public:
  class Client : public OwnRing::Client {
   public:
    // On the executor's thread: a round's writes, linked from the newest to the oldest; none if it only held
    // the turn.
    virtual void hand_over(OwnRing& own, Write* newest, Write* oldest) = 0;

   protected:
    ~Client() = default;
  };
  explicit Rounds(Client& client) {
    for (std::size_t i = 0; i < slots_max; ++i) slots_.emplace_back(client);
  }

  // False: it does not belong to a round.
  bool add(Write* write) {
    Executor* const executor = write->executor;
    if (!executor || !executor->can_defer()) return false;
    Slot* const slot = slot_of(*executor);
    if (!slot) return false;
    executor->defer(*slot);
    slot->add(write);
    return true;
  }

  // Any thread. Nothing: it has no rounds.
  OwnRing* own_ring_of(const Executor* executor) {
    for (Slot& slot : slots_) {
      const Executor* const of = slot.executor.load(std::memory_order_acquire);
      if (!of || !executor) return nullptr;
      if (of == executor) return &slot.own;
    }
    return nullptr;
  }

  // By the executor's thread, which has the turn: it is used at the round's end. False: there is none.
  bool hold_turn(OwnRing& own) {
    for (Slot& slot : slots_) {
      if (&slot.own == &own) return slot.hold_turn();
    }
    return false;
  }

  // With so much the write begins: a long round should not keep the disk waiting.
  static constexpr std::size_t enough_bytes = 64 << 10;

 private:
  struct Slot : Deferred {
    explicit Slot(Client& its_client) : client(its_client), own(its_client) {
      run = [](Deferred* self) { static_cast<Slot*>(self)->hand_over(); };
    }
    void add(Write* write) {
      write->next = newest;
      newest = write;
      if (!oldest) oldest = write;
      bytes += write->all_bytes();
      if (bytes >= enough_bytes) hand_over();
    }
    bool hold_turn() {
      Executor& mine = *executor.load(std::memory_order_relaxed);
      if (!mine.can_defer()) return false;
      own.holds_turn = true;
      mine.defer(*this);
      return true;
    }
    void hand_over() {
      Executor& mine = *executor.load(std::memory_order_relaxed);
      mine.undefer(*this);
      bytes = 0;
      own.open(mine);
      client.hand_over(own, std::exchange(newest, nullptr), std::exchange(oldest, nullptr));
    }

    std::atomic<Executor*> executor = nullptr;
    Client& client;
    Write* newest = nullptr;
    Write* oldest = nullptr;
    std::size_t bytes = 0;
    OwnRing own;
  };

  Slot* slot_of(Executor& executor) {  // nothing: there are more executors than slots
    for (Slot& slot : slots_) {
      Executor* of = slot.executor.load(std::memory_order_relaxed);
      if (of == &executor || (!of && slot.executor.compare_exchange_strong(of, &executor))) return &slot;
    }
    return nullptr;
  }

  static constexpr std::size_t slots_max = 64;
  std::deque<Slot> slots_;  // in use from the first on
};

}  // namespace onceward::embedded
