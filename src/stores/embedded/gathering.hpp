// Gathering: how long a batch waits for more writes. Those whom the last batch answered often write again at
// once. A few are back within a part of a sync's time, and then one sync for all is cheaper and faster than
// two groups whose syncs take turns; many are not, and the turns keep the disk and the workers busy. Whether
// they come back at all is learnt: each wait in vain doubles how many batches go without one. Only decides;
// the writer's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace onceward::embedded {

class Gathering {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // A batch of `answered` writes took so long; `queued` others came meanwhile.
  void wrote(std::size_t answered, std::size_t queued, Duration took) {
    took_ = (took_ * 3 + took) / 4;
    // The last ones are not worth waiting for; and the first of many should not have a sync to itself.
    wanted_ = answered <= few ? queued + answered - answered / 4 : answered / 2;
  }

  struct Wait {
    std::size_t wanted = 0;  // until so many are queued
    Duration at_most{};      // zero: not at all
  };
  Wait next(std::size_t queued) {
    if (queued >= wanted_) return {};
    if (passed_over_ < pass_over_) {
      ++passed_over_;
      return {};
    }
    return {wanted_, std::min<Duration>(took_ / 2, longest)};
  }
  void waited(bool in_vain) {
    pass_over_ = in_vain ? std::min(pass_over_ * 2 + 1, pass_over_max) : pass_over_ / 2;
    passed_over_ = 0;
  }

 private:
  static constexpr Duration longest = std::chrono::microseconds(80);
  static constexpr std::size_t few = 16;
  static constexpr std::size_t pass_over_max = 63;

  Duration took_{};
  std::size_t wanted_ = 0;
  std::size_t pass_over_ = 0;  // so many batches go without waiting before the next one that waits
  std::size_t passed_over_ = 0;
};

}  // namespace onceward::embedded
