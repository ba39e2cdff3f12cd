#include "cli/verify_checks.hpp"

#include <gtest/gtest.h>

namespace onceward::cli {
namespace {

TEST(ChangedBody, DiffersAndKeepsItsKind) {
  EXPECT_EQ(changed_body(R"({"a":1})", "application/json"), R"({"a":1,"onceward_verify":1})");
  EXPECT_EQ(changed_body("{ }\n", "application/problem+json"), R"({ "onceward_verify":1})");
  EXPECT_EQ(changed_body("[1]", "application/json"), "[1]&onceward-verify=1");
  EXPECT_EQ(changed_body("a=1", "application/x-www-form-urlencoded"), "a=1&onceward-verify=1");
  EXPECT_EQ(changed_body("", ""), "onceward-verify=1");
}

TEST(Conforms, OnlyWhatMustBeCountsAndWhatCannotBeSeenIsNotThere) {
  const CheckResult good{"a", Level::must, Finding::passed, ""};
  EXPECT_FALSE(conforms({}));
  EXPECT_TRUE(conforms({good}));
  EXPECT_TRUE(
      conforms({good, {"b", Level::should, Finding::failed, ""}, {"c", Level::note, Finding::failed, ""}}));
  EXPECT_FALSE(conforms({good, {"b", Level::must, Finding::failed, ""}}));
  EXPECT_FALSE(conforms({good, {"b", Level::must, Finding::unclear, ""}}));
}

TEST(WithKeyLines, ReplacesTheKeysLineOnly) {
  const client::WireRequest made =
      *client::make_wire_request({.url = "http://h/p", .headers = {{"X", "1"}}}, "k", {});
  EXPECT_EQ(with_key_lines(made, {}).head,
            "POST /p HTTP/1.1\r\nHost: h\r\nX: 1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(with_key_lines(made, {"a", "b"}).head,
            "POST /p HTTP/1.1\r\nHost: h\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nX: 1\r\n"
            "Content-Length: 0\r\n\r\n");
}

}  // namespace
}  // namespace onceward::cli
