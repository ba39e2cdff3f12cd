// TaskGroup: the tasks that run on an I/O thread, counted, so that whoever ends the thread can wait until
// none is suspended any more. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "base/task.hpp"

namespace onceward::redis {

class TaskGroup {
 public:
  void start(Task<> task) {
    ++running_;
    spawn(counted(std::move(task)));
  }
  // Calls it when nothing runs any more, perhaps at once.
  void when_idle(std::function<void()> idle) {
    idle_ = std::move(idle);
    if (running_ == 0) std::exchange(idle_, {})();
  }

 private:
  Task<> counted(Task<> task) {
    co_await std::move(task);
    if (--running_ == 0 && idle_) std::exchange(idle_, {})();
  }
  std::size_t running_ = 0;
  std::function<void()> idle_;
};

}  // namespace onceward::redis
