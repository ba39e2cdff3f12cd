// What a server says of itself: whether it is a primary, whether it would throw records away, and what a
// crash of it would lose. Pure; asked for once per connection.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "onceward/result.hpp"

namespace onceward::redis {

struct ServerFacts {
  std::string version;
  std::string role;                        // "master", "slave"; empty: it does not say
  std::optional<std::uint64_t> maxmemory;  // 0: no limit
  std::string maxmemory_policy;
  std::optional<bool> appendonly;
  std::string appendfsync;
};

// The text of INFO; what is already known stays.
void read_info(std::string_view info, ServerFacts& facts);
// One parameter of CONFIG GET.
void read_config(std::string_view name, std::string_view value, ServerFacts& facts);

// Why records cannot be entrusted to this server: it is a replica, or it evicts. Errc::invalid is for what
// only its administrator can change.
Result<Done> check_fit(const ServerFacts& facts);

// "aof everysec", "none (appendonly no)"; and what an operator should be told, if anything.
std::string durability_text(const ServerFacts& facts);
std::string warning_text(const ServerFacts& facts);

}  // namespace onceward::redis
