// Purger: removes what is past its time, a chunk at a time, in the background of one worker.
#pragma once

#include <atomic>

#include "base/task.hpp"
#include "onceward/store.hpp"
#include "ops/log.hpp"

namespace onceward {

class Purger {
 public:
  Purger(Store& store, Executor& executor, const Clock& clock, Log& log);

  // On the executor's thread. After stop() no new pass begins; is_idle() tells when the last has ended.
  void start();
  void stop();
  bool is_idle() const { return !running_; }

 private:
  struct Alarm : Timer {
    Purger* purger = nullptr;
  };
  void arm();
  Task<> pass();

  Store& store_;
  Executor& executor_;
  const Clock& clock_;
  Log& log_;
  Alarm alarm_;
  bool stopped_ = false;
  std::atomic<bool> running_{false};  // written on the executor's thread, read by whoever shuts down
};

}  // namespace onceward
