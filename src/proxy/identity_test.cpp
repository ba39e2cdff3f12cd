#include "proxy/identity.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

std::variant<Identity, IdentityRefused> identify_lines(const IdentityRules& rules, const Lines& lines,
                                                       const http::PeerInfo& peer = {}) {
  http::RequestHead request;
  for (const auto& [name, value] : lines) request.headers.add(name, value);
  return identify(rules, request, peer);
}

Identity must_identify(const IdentityRules& rules, const Lines& lines, const http::PeerInfo& peer = {}) {
  auto identified = identify_lines(rules, lines, peer);
  EXPECT_TRUE(std::holds_alternative<Identity>(identified));
  return std::holds_alternative<Identity>(identified) ? std::get<Identity>(identified) : Identity{};
}

ProblemCode refusal(const IdentityRules& rules, const Lines& lines) {
  auto identified = identify_lines(rules, lines);
  EXPECT_TRUE(std::holds_alternative<IdentityRefused>(identified));
  return std::holds_alternative<IdentityRefused>(identified) ? std::get<IdentityRefused>(identified).code
                                                             : ProblemCode::internal_error;
}

TEST(Identity, the_tenant_is_a_header_and_the_caller_a_hash_of_the_credential) {
  const Identity identity = must_identify({}, {{"x-tenant-id", "acme"}, {"Authorization", "Bearer secret"}});
  EXPECT_EQ(identity.tenant, "acme");
  ASSERT_TRUE(identity.caller);
  EXPECT_EQ(identity.caller->size(), 64u);
  EXPECT_EQ(identity.caller->find("secret"), std::string::npos);
}

TEST(Identity, absent_is_not_empty) {
  EXPECT_EQ(must_identify({}, {}).tenant, std::nullopt);
  EXPECT_EQ(must_identify({}, {{"X-Tenant-ID", ""}}).tenant, "");
  EXPECT_NE(owner_tag(must_identify({}, {}), ""), owner_tag(must_identify({}, {{"X-Tenant-ID", ""}}), ""));
}

TEST(Identity, other_sources_of_the_caller) {
  struct Case {
    IdentityRule rule;
    Lines lines;
    std::optional<std::string> caller;
  };
  const Case cases[] = {
      {{IdentitySource::header, "X-User"}, {{"X-User", "ada"}}, "ada"},
      {{IdentitySource::header, "X-User"}, {{"X-Other", "ada"}}, std::nullopt},
      {{IdentitySource::cookie, "sid"}, {{"Cookie", "a=b; sid=42; c=d"}}, "42"},
      {{IdentitySource::cookie, "sid"}, {{"Cookie", "xsid=1"}}, std::nullopt},
      {{IdentitySource::cookie, "sid"}, {{"Cookie", "a=b"}, {"Cookie", "sid=7"}}, "7"},
      {{IdentitySource::cookie, "sid"}, {{"Cookie", "sid"}}, std::nullopt},
      {{IdentitySource::none, ""}, {{"Authorization", "x"}}, std::nullopt},
  };
  for (const Case& c : cases) {
    IdentityRules rules;
    rules.caller = c.rule;
    EXPECT_EQ(must_identify(rules, c.lines).caller, c.caller) << c.rule.name;
  }
}

TEST(Identity, a_certificate_is_known_by_its_fingerprint) {
  IdentityRules rules;
  rules.caller = {IdentitySource::certificate, ""};
  http::PeerInfo peer;
  peer.certificate_fingerprint = "ab12";
  EXPECT_EQ(must_identify(rules, {}, peer).caller, "ab12");
  EXPECT_EQ(must_identify(rules, {}).caller, std::nullopt);
}

TEST(Identity, a_required_tenant_must_be_there_and_not_empty) {
  IdentityRules rules;
  rules.tenant_required = true;
  EXPECT_EQ(refusal(rules, {}), ProblemCode::missing_tenant);
  EXPECT_EQ(refusal(rules, {{"X-Tenant-ID", ""}}), ProblemCode::missing_tenant);
}

TEST(Identity, a_uuid_tenant_is_one_tenant_in_either_case) {
  IdentityRules rules;
  rules.tenant_is_uuid = true;
  const char* lower = "0190a6e2-7c1b-7def-8abc-0123456789ab";
  const char* upper = "0190A6E2-7C1B-7DEF-8ABC-0123456789AB";
  EXPECT_EQ(must_identify(rules, {{"X-Tenant-ID", upper}}).tenant, lower);
  for (const char* bad : {"acme", "0190a6e27c1b7def8abc0123456789ab", "0190a6e2-7c1b-7def-8abc-0123456789ag",
                          "0190a6e2-7c1b-7def-8abc-0123456789abc"}) {
    EXPECT_EQ(refusal(rules, {{"X-Tenant-ID", bad}}), ProblemCode::invalid_tenant) << bad;
  }
}

TEST(Identity, what_is_given_twice_is_refused) {
  EXPECT_EQ(refusal({}, {{"X-Tenant-ID", "a"}, {"x-tenant-id", "b"}}), ProblemCode::invalid_tenant);
  EXPECT_EQ(refusal({}, {{"Authorization", "a"}, {"Authorization", "a"}}), ProblemCode::bad_request);
}

TEST(Identity, a_tenant_of_more_than_1024_bytes_is_refused) {
  EXPECT_EQ(refusal({}, {{"X-Tenant-ID", std::string(1025, 'x')}}), ProblemCode::invalid_tenant);
}

TEST(Identity, owner_tags_tell_tenants_and_callers_apart) {
  const std::vector<Identity> identities = {{"a", "b"}, {"ab", ""},          {"", "ab"},
                                            {"b", "a"}, {"a", std::nullopt}, {std::nullopt, "a"}};
  for (std::size_t i = 0; i < identities.size(); ++i) {
    for (std::size_t j = 0; j < identities.size(); ++j) {
      EXPECT_EQ(owner_tag(identities[i], "s") == owner_tag(identities[j], "s"), i == j) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace onceward
