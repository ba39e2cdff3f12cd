#include "core/form.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace onceward {
namespace {

std::optional<std::string> canonical(std::string_view body) {
  std::string out = "before";
  const bool ok = canonicalize_form(body, out);
  EXPECT_TRUE(out.starts_with("before"));
  if (!ok) EXPECT_EQ(out, "before");
  return ok ? std::optional(out) : std::nullopt;
}

TEST(CanonicalForm, NamesMayComeInAnyOrderAndSpelling) {
  const std::pair<std::string_view, std::string_view> equal[] = {
      {"a=1&b=2", "b=2&a=1"},   {"a=x+y", "a=x%20y"},
      {"%61=1", "a=1"},         {"a=%c3%a9", "a=%C3%A9"},
      {"a=1&&b=2&", "a=1&b=2"}, {"b=1&a=1&b=2", "a=1&b=1&b=2"},
      {"a=b=c", "a=b%3Dc"},     {"", "&"},
  };
  for (const auto& [left, right] : equal) EXPECT_EQ(canonical(left), canonical(right)) << left;
}

TEST(CanonicalForm, WhatDiffersStaysDifferent) {
  const std::pair<std::string_view, std::string_view> different[] = {
      {"a=1&a=2", "a=2&a=1"},     {"a=1", "a=2"},       {"a=1", "A=1"},   {"a", "a="},
      {"a=1&b=2", "a=1&b=2&b=2"}, {"a=b&c", "a=b%26c"}, {"ab=c", "a=bc"}, {"a=+", "a=%2B"},
      {"a=1&b=2", "a=2&b=1"},     {"a=", ""},
  };
  for (const auto& [left, right] : different) EXPECT_NE(canonical(left), canonical(right)) << left;
}

TEST(CanonicalForm, AMalformedEscapeCountsAsRaw) {
  for (std::string_view body : {"a=%", "a=%1", "a=%zz", "%g0=1", "a=1&b=%2", "a=%%20", "%"})
    EXPECT_EQ(canonical(body), std::nullopt) << body;
}

}  // namespace
}  // namespace onceward
