// Watch: something with a file descriptor that wants to hear of its readiness (edge-triggered). The
// worker's thread only.
#pragma once

#include <cstdint>

namespace onceward::net {

class Watch {
 public:
  virtual void on_event(std::uint32_t events) = 0;

  int news = 0;  // events that the loop has fetched and on_event() has not been told

 protected:
  ~Watch() = default;
};

}  // namespace onceward::net
