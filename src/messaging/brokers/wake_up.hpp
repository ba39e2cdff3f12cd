// WakeUp: ends another thread's wait on a broker. Any thread signals; the one that waits polls fd() and
// clears.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/assert.hpp"

namespace onceward::messaging {

class WakeUp {
 public:
  WakeUp() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { ONCEWARD_ASSERT(fd_ >= 0); }
  ~WakeUp() { ::close(fd_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  int fd() const { return fd_; }
  void signal() const {
    const std::uint64_t one = 1;
    (void)!::write(fd_, &one, sizeof one);  // full: it is awake already
  }
  void clear() const {
    std::uint64_t count = 0;
    (void)!::read(fd_, &count, sizeof count);
  }

 private:
  const int fd_;
};

}  // namespace onceward::messaging
