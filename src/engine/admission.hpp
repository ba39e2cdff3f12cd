// Admission: whether one caller may have one more key, asked just before a claim and never for a key that
// exists. One per command, owned by its execution; what it took is given back when it goes.
#pragma once

#include <optional>

#include "onceward/executor.hpp"

namespace onceward {

class Admission {
 public:
  virtual ~Admission() = default;
  // Takes room for a new key and an execution. Otherwise: how long to wait before trying again.
  virtual std::optional<Duration> enter() = 0;
  // Takes room for an execution only: the key exists and may run again.
  virtual std::optional<Duration> enter_again() = 0;
  // The claim was granted: `is_new` when no earlier epoch has paid for the key.
  virtual void granted(bool is_new) = 0;
  // The execution is over, or there was none: gives back what is not the key's for good.
  virtual void leave() = 0;
};

}  // namespace onceward
