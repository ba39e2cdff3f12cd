#include "stores/redis/router.hpp"

#include <array>

namespace onceward::redis {
namespace {

// "MOVED 3999 127.0.0.1:6381"; the host may be an IPv6 address, and empty.
Endpoint endpoint_in(std::string_view error) {
  const std::size_t space = error.rfind(' ');
  const std::string_view place = space == error.npos ? std::string_view() : error.substr(space + 1);
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos) return {};
  return {std::string(place.substr(0, colon)), std::string(place.substr(colon + 1))};
}

}  // namespace

Redirect redirect_of(const redisReply& reply) {
  if (!is_error(reply)) return {};
  const std::string_view error = text_of(reply);
  if (error.starts_with("MOVED ")) return {Refusal::moved, endpoint_in(error)};
  if (error.starts_with("ASK ")) return {Refusal::ask, endpoint_in(error)};
  static constexpr std::array<std::string_view, 2> soon{"TRYAGAIN", "CLUSTERDOWN"};
  for (const std::string_view word : soon)
    if (error.starts_with(word)) return {Refusal::try_again, {}};
  // Said before anything of the command was executed. A script that is refused memory is refused before its
  // first write; Redis 6 wraps that error in one of its own.
  static constexpr std::array<std::string_view, 10> not_now{"READONLY", "LOADING",  "MASTERDOWN", "BUSY",
                                                            "OOM",      "MISCONF",  "NOREPLICAS", "NOAUTH",
                                                            "NOPERM",   "WRONGPASS"};
  for (const std::string_view word : not_now)
    if (error.starts_with(word)) return {Refusal::not_now, {}};
  if (error.find("-OOM command not allowed") != error.npos) return {Refusal::not_now, {}};
  return {};
}

}  // namespace onceward::redis
