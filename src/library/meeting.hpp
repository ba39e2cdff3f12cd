// Meeting: where a thread that blocks in run() waits for the engine's: for the work to do, if it is to be
// done here, and then for the outcome. Shared by the two; both may arrive first.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace onceward::api {

template <class Work, class Outcome>
class Meeting {
 public:
  // The engine's thread.
  void hand_over(Work work) {
    const std::scoped_lock lock(mutex_);
    work_.emplace(std::move(work));
    arrived_.notify_one();
  }
  void tell(Outcome outcome) {
    const std::scoped_lock lock(mutex_);
    outcome_.emplace(std::move(outcome));
    arrived_.notify_one();
  }

  // The caller's thread: the work to do, or nothing when there is an outcome already.
  std::optional<Work> work() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return work_ || outcome_; });
    return std::exchange(work_, std::nullopt);
  }
  Outcome outcome() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return outcome_.has_value(); });
    return std::move(*outcome_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::optional<Work> work_;
  std::optional<Outcome> outcome_;
};

}  // namespace onceward::api
