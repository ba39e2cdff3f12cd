#include "proxy/reference.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(Reference, comes_from_the_body_or_a_header_and_is_empty_where_there_is_none) {
  struct Case {
    ReferenceRule rule;
    const char* body;
    const char* reference;
  };
  const Case cases[] = {
      {{false, "/order"}, R"({"order":"A-17"})", "A-17"},
      {{false, "/order/no"}, R"({"order":{"no":17}})", "17"},
      {{false, "/order"}, R"({"order":null})", ""},
      {{false, "/order"}, R"({"other":"A-17"})", ""},
      {{false, "/order"}, "order=A-17", ""},
      {{false, "/order"}, R"({"order":"a\u0000b"})", ""},
      {{true, "x-order"}, "", "H-1"},
      {{true, "X-None"}, R"({"order":"A-17"})", ""},
      {{true, "X-Bytes"}, "", ""},
  };
  http::HeaderList headers;
  headers.add("X-Order", "H-1");
  headers.add("X-Bytes", "\xff");
  for (const Case& c : cases) EXPECT_EQ(reference_of(c.rule, headers, c.body), c.reference) << c.rule.where;
}

TEST(Reference, of_more_than_255_bytes_is_none) {
  http::HeaderList headers;
  const std::string longest(255, 'x');
  const std::string too_long(256, 'x');
  headers.add("A", longest);
  headers.add("B", too_long);
  EXPECT_EQ(reference_of({true, "A"}, headers, ""), longest);
  EXPECT_EQ(reference_of({true, "B"}, headers, ""), "");
}

}  // namespace
}  // namespace onceward
