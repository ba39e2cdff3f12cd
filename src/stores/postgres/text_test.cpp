#include "stores/postgres/text.hpp"

#include <gtest/gtest.h>

namespace onceward::postgres {
namespace {

TEST(PostgresText, names_are_kept_readable_and_come_back) {
  struct Case {
    std::string bytes;
    std::string text;
  };
  for (const Case& c : {Case{"POST /orders", "POST /orders"}, Case{"", ""}, Case{"Müller €", "Müller €"},
                        Case{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, Case{"a\\b", "a\\x5cb"},
                        Case{std::string("a\0b", 3), "a\\x00b"}, Case{"\xff", "\\xff"},
                        Case{"\xc0\xaf", "\\xc0\\xaf"},                    // overlong
                        Case{"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
                        Case{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond the last code point
                        Case{"\xe2\x82", "\\xe2\\x82"}, Case{"\xe2\x82z", "\\xe2\\x82z"}}) {
    EXPECT_EQ(to_text(c.bytes), c.text);
    EXPECT_EQ(from_text(c.text), c.bytes) << c.text;
  }
}

TEST(PostgresText, what_was_never_written_is_not_read) {
  for (const char* text : {"\\", "a\\x", "a\\x5", "\\y5c", "\\xzz"}) EXPECT_FALSE(from_text(text)) << text;
}

}  // namespace
}  // namespace onceward::postgres
