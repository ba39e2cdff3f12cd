// OwnRing: what lets an executor's thread write the log itself: a ring for one write, whose end it hears of
// among its other events, and the way in which it is given the turn to write. One for each executor that
// has rounds, owned by these. Its executor's thread, except give_turn() and the end of its life.
#pragma once

#include <memory>
#include <mutex>

#include "onceward/executor.hpp"
#include "stores/embedded/io_ring.hpp"

namespace onceward::embedded {

class OwnRing {
 public:
  // Called on the executor's thread.
  class Client {
   public:
    virtual void on_turn(OwnRing& own) = 0;
    // What was begun may have ended; or has to be waited for, because the thread is about to end.
    virtual void on_end(OwnRing& own, bool wait) = 0;

   protected:
    ~Client() = default;
  };
  explicit OwnRing(Client& client);
  ~OwnRing();
  OwnRing(const OwnRing&) = delete;
  OwnRing& operator=(const OwnRing&) = delete;

  // Whether this thread can write; makes the ring when it is first asked for.
  bool open(Executor& executor);
  bool is_open() const { return ring_ && !is_ending_; }
  IoRing& ring() { return *ring_; }
  bool is_writing = false;
  bool holds_turn = false;  // has the turn and has begun nothing; the round's end does

  // Any thread that has the turn: from now on the executor's has it, and hears so. False: it does not
  // listen, or no more.
  bool give_turn();

 private:
  struct Events : FileWatch {
    OwnRing* self = nullptr;
  };
  struct Turn : Completion {
    OwnRing* self = nullptr;
  };
  void close();
  void take_turn();

  Client& client_;
  std::unique_ptr<IoRing> ring_;
  bool is_refused_ = false;  // there is no ring to be had
  bool is_ending_ = false;   // nothing more is begun
  Events events_;

  std::mutex mutex_;              // guards what follows
  Executor* executor_ = nullptr;  // that tells of ends; nothing: nobody listens
  Turn turn_;
  bool is_posted_ = false;
  bool has_turn_ = false;  // given and not yet heard of
};

}  // namespace onceward::embedded
