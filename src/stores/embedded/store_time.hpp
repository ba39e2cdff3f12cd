// StoreTime: the store's own clock. It runs with the monotonic clock, so that setting the wall clock
// neither ends leases nor drops answers, and follows the wall clock again once that can be trusted:
//   - up to a second off: followed at once (that is how time servers steer);
//   - further off: ignored until it has stayed at the same distance for an hour, then adopted;
//   - more than an hour off, or more than an hour from the last time in the log when the store was
//     opened: purging pauses until then, for what a purge removes is lost.
// Any thread.
#pragma once

#include <mutex>
#include <optional>

#include "onceward/executor.hpp"

namespace onceward::embedded {

class StoreTime {
 public:
  static constexpr Duration follows = std::chrono::seconds(1);
  static constexpr Duration jump = std::chrono::hours(1);
  static constexpr Duration steady = std::chrono::hours(1);

  StoreTime(const Clock& clock, std::optional<Timestamp> last_written);

  Timestamp now();
  bool may_purge();

 private:
  struct Suspicion {
    Duration drift{};
    MonoTime since{};
  };

  Timestamp update() /* mutex_ held */;

  const Clock& clock_;
  std::mutex mutex_;
  MonoTime anchor_mono_;
  Timestamp anchor_;
  std::optional<Suspicion> suspicion_;
  std::optional<MonoTime> paused_until_;
};

}  // namespace onceward::embedded
