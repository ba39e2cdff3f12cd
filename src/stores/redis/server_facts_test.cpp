#include "stores/redis/server_facts.hpp"

#include <gtest/gtest.h>

namespace onceward::redis {
namespace {

constexpr std::string_view info =
    "# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n"
    "# Persistence\r\naof_enabled:1\r\n# Replication\r\nrole:master\r\n";

TEST(ServerFacts, are_read_from_info) {
  ServerFacts facts;
  read_info(info, facts);
  EXPECT_EQ(facts.version, "7.0.15");
  EXPECT_EQ(facts.role, "master");
  EXPECT_EQ(facts.maxmemory, 1048576u);
  EXPECT_EQ(facts.maxmemory_policy, "allkeys-lru");
  EXPECT_EQ(facts.appendonly, true);
}

TEST(ServerFacts, a_server_that_evicts_is_refused_for_good_and_a_replica_for_now) {
  struct Case {
    const char* role;
    std::uint64_t maxmemory;
    const char* policy;
    std::optional<Errc> refused;
  };
  const Case cases[] = {
      {"master", 0, "noeviction", std::nullopt},
      {"master", 1 << 20, "noeviction", std::nullopt},
      {"master", 0, "allkeys-lru", std::nullopt},  // there is no limit at which it would
      {"master", 1 << 20, "allkeys-lru", Errc::invalid},
      {"master", 1 << 20, "volatile-ttl", Errc::invalid},
      {"master", 1 << 20, "", std::nullopt},  // nobody may look
      {"slave", 0, "noeviction", Errc::refused},
      {"", 0, "", std::nullopt},
  };
  for (const Case& c : cases) {
    const Result<Done> fit =
        check_fit({.role = c.role, .maxmemory = c.maxmemory, .maxmemory_policy = c.policy});
    EXPECT_EQ(fit.has_value(), !c.refused.has_value()) << c.role << c.policy;
    if (!fit && c.refused) EXPECT_EQ(fit.error().code, *c.refused);
  }
}

TEST(ServerFacts, durability_is_told_and_its_lack_is_warned_of) {
  ServerFacts facts;
  EXPECT_EQ(durability_text(facts), "not known");
  EXPECT_NE(warning_text(facts), "");
  read_config("appendonly", "yes", facts);
  read_config("appendfsync", "everysec", facts);
  EXPECT_EQ(durability_text(facts), "aof everysec");
  EXPECT_EQ(warning_text(facts), "");
  read_config("appendonly", "no", facts);
  EXPECT_EQ(durability_text(facts), "none (appendonly no)");
  EXPECT_NE(warning_text(facts).find("appendonly"), std::string::npos);
}

}  // namespace
}  // namespace onceward::redis
