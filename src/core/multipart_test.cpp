#include "core/multipart.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace onceward {
namespace {

std::optional<std::string> canonical(std::string_view body, std::string_view boundary = "B") {
  std::string out = "before";
  const bool ok = canonicalize_multipart(body, boundary, out);
  EXPECT_TRUE(out.starts_with("before"));
  if (!ok) EXPECT_EQ(out, "before");
  return ok ? std::optional(out) : std::nullopt;
}

const std::string two =
    "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
    "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\nContent-Type: "
    "text/plain\r\n\r\nline\r\nline\r\n"
    "--B--\r\n";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(CanonicalMultipart, TheBoundaryAndTheSpellingOfHeadersDoNotMatter) {
  ASSERT_TRUE(canonical(two));
  EXPECT_EQ(canonical(two), canonical(replaced(two, "--B", "--another"), "another"));
  EXPECT_EQ(canonical(two), canonical(replaced(two, "Content-Type: ", "content-type:\t ")));
  EXPECT_EQ(canonical(two), canonical(two.substr(0, two.size() - 2)));
  EXPECT_EQ(canonical("--B\r\nA: 1\r\nB: 2\r\n\r\nx\r\n--B--"),
            canonical("--B\r\nb: 2\r\na: 1\r\n\r\nx\r\n--B--"));
}

TEST(CanonicalMultipart, ThePartsDoMatter) {
  for (const auto& [from, to] :
       {std::pair("line\r\nline", "line\nline"), std::pair("name=\"a\"", "name=\"b\""),
        std::pair("text/plain", "text/html"), std::pair("\r\n\r\n1", "\r\n\r\n1 ")})
    EXPECT_NE(canonical(two), canonical(replaced(two, from, to))) << from;
  EXPECT_NE(canonical("--B\r\n\r\n1\r\n--B\r\n\r\n2\r\n--B--"),
            canonical("--B\r\n\r\n2\r\n--B\r\n\r\n1\r\n--B--"));
  EXPECT_NE(canonical("--B\r\nA: 1\r\nA: 2\r\n\r\n\r\n--B--"),
            canonical("--B\r\nA: 2\r\nA: 1\r\n\r\n\r\n--B--"));
  EXPECT_NE(canonical("--B\r\n\r\n\r\n--B--"), canonical("--B--"));
  EXPECT_NE(canonical("--B\r\na: 1\r\n\r\n\r\n--B--"),
            canonical("--B\r\n\r\na\r\n--B\r\n\r\n1\r\n--B\r\n\r\n\r\n--B--"));
}

TEST(CanonicalMultipart, WhatIsMalformedCountsAsRaw) {
  const std::string_view bodies[] = {
      "",
      "--B",
      "--C\r\n\r\n1\r\n--C--",
      "--B\r\n\r\n1\r\n",
      "--B\r\n\r\n1\r\n--B",
      "--B\r\n\r\n1\r\n--B-",
      "--B\r\n\r\n1--B--",
      "--B\n\n1\n--B--",
      "--B \r\n\r\n1\r\n--B--",
      "preamble\r\n--B\r\n\r\n1\r\n--B--",
      "\r\n--B\r\n\r\n1\r\n--B--",
      "--B\r\n\r\n1\r\n--B--\r\nepilogue",
      "--B\r\n\r\n1\r\n--Bx\r\n--B--",
      "--B\r\nno colon\r\n\r\n1\r\n--B--",
      "--B\r\n: empty\r\n\r\n1\r\n--B--",
      "--B\r\nA : 1\r\n\r\n1\r\n--B--",
      "--B\r\nA: 1\r\n folded: 2\r\n\r\n1\r\n--B--",
      "--B\r\nA: 1\n\r\n\r\n1\r\n--B--",
      "--B\r\nA: 1\r\n--B--",
      "--B\r\nA: 1\r\n1\r\n--B--",
  };
  for (std::string_view body : bodies) EXPECT_EQ(canonical(body), std::nullopt) << body;
  EXPECT_EQ(canonical("--\r\n\r\n1\r\n----", ""), std::nullopt);
  const std::string longest(70, 'b');
  EXPECT_TRUE(canonical("--" + longest + "--", longest));
  EXPECT_EQ(canonical("--" + longest + "b--", longest + "b"), std::nullopt);
}

}  // namespace
}  // namespace onceward
