#include "stores/redis/server_facts.hpp"

#include <charconv>

namespace onceward::redis {
namespace {

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

void read_info(std::string_view info, ServerFacts& facts) {
  while (!info.empty()) {
    const std::size_t end = info.find("\r\n");
    const std::string_view line = info.substr(0, end);
    info = end == info.npos ? std::string_view() : info.substr(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 1);
    if (name == "redis_version") facts.version = value;
    if (name == "role") facts.role = value;
    if (name == "maxmemory") facts.maxmemory = number_in(value);
    if (name == "maxmemory_policy") facts.maxmemory_policy = value;
    if (name == "aof_enabled") facts.appendonly = value == "1";
  }
}

void read_config(std::string_view name, std::string_view value, ServerFacts& facts) {
  if (name == "maxmemory") facts.maxmemory = number_in(value);
  if (name == "maxmemory-policy") facts.maxmemory_policy = value;
  if (name == "appendonly") facts.appendonly = value == "yes";
  if (name == "appendfsync") facts.appendfsync = value;
}

Result<Done> check_fit(const ServerFacts& facts) {
  if (facts.role == "slave") return Error{Errc::refused, "the Redis server is a replica, not a primary"};
  const bool limited = facts.maxmemory.value_or(0) != 0;
  if (limited && !facts.maxmemory_policy.empty() && facts.maxmemory_policy != "noeviction") {
    return Error{Errc::invalid,
                 "the Redis server evicts records when its memory is full (maxmemory-policy " +
                     facts.maxmemory_policy +
                     "), and an evicted record would let a request run twice: set maxmemory-policy "
                     "noeviction"};
  }
  return Done{};
}

std::string durability_text(const ServerFacts& facts) {
  if (!facts.appendonly) return "not known";
  if (!*facts.appendonly) return "none (appendonly no)";
  return facts.appendfsync.empty() ? "aof" : "aof " + facts.appendfsync;
}

std::string warning_text(const ServerFacts& facts) {
  if (!facts.appendonly)
    return "the Redis user may use neither INFO nor CONFIG GET: whether records survive a restart and "
           "whether they "
           "are evicted could not be checked";
  if (!*facts.appendonly)
    return "the Redis server has no append-only file (appendonly no): a restart of it forgets claims and "
           "outcomes";
  return {};
}

}  // namespace onceward::redis
