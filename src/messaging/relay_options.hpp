// What the relay may be told, and what follows from it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "onceward/executor.hpp"

namespace onceward::messaging {

struct RelayOptions {
  Duration timeout{5000};        // of one attempt to send
  std::uint32_t attempts = 100;  // then an event is set aside
  Duration backoff{1000};        // after the first failure; doubled with each
  Duration max_backoff{600'000};
  Duration poll{2000};  // how often a partition is looked at that nobody spoke of

  // Long enough that a partition is kept while one batch is on its way, short enough that a dead relay's
  // events do not wait long.
  Duration lease() const { return timeout * 2 + Duration(1000); }
};

// How long an event waits after so many attempts, a quarter more or less by chance (0 … 65535), so that what
// failed together does not come back together.
Duration back_off(const RelayOptions& options, std::uint32_t attempts, std::uint16_t chance);

}  // namespace onceward::messaging
