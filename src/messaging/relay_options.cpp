#include "messaging/relay_options.hpp"

#include <algorithm>

namespace onceward::messaging {

Duration back_off(const RelayOptions& options, std::uint32_t attempts, std::uint16_t chance) {
  constexpr std::uint32_t doublings_max = 30;  // keeps the product within its type
  const std::uint32_t doublings = std::min(attempts == 0 ? 0 : attempts - 1, doublings_max);
  const Duration longest = std::min(options.max_backoff, Duration(std::int64_t{1} << 40));
  const Duration first = std::min(options.backoff, longest);
  const Duration pause =
      std::min(first.count() > longest.count() >> doublings ? longest : first * (1 << doublings), longest);
  return pause * 3 / 4 + Duration(pause.count() / 2 * chance / 65535);
}

}  // namespace onceward::messaging
