// RetryBudget: how many retries all sends of one client may make together. When a server is down, retries
// must not become the greater part of its load. Pure; guarded by its owner.
#pragma once

#include <algorithm>

namespace onceward::client {

class RetryBudget {
 public:
  RetryBudget(double ratio, double max) : ratio_(ratio), max_(max), saved_(max) {}

  void first_attempt() { saved_ = std::min(max_, saved_ + ratio_); }
  // False: no retry now.
  bool take() {
    if (saved_ < 1) return false;
    saved_ -= 1;
    return true;
  }

 private:
  double ratio_;
  double max_;
  double saved_;
};

}  // namespace onceward::client
