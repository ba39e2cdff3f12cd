#include "core/json_pointer.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using Tokens = std::vector<std::string>;

TEST(PointerTokens, FollowRfc6901) {
  EXPECT_EQ(*pointer_tokens(""), Tokens{});
  EXPECT_EQ(*pointer_tokens("/"), Tokens{""});
  EXPECT_EQ(*pointer_tokens("/a/b"), (Tokens{"a", "b"}));
  EXPECT_EQ(*pointer_tokens("/a//"), (Tokens{"a", "", ""}));
  EXPECT_EQ(*pointer_tokens("/a~1b/m~0n"), (Tokens{"a/b", "m~n"}));
  EXPECT_EQ(*pointer_tokens("/~01"), Tokens{"~1"});
}

TEST(PointerTokens, RefuseWhatIsNoPointer) {
  for (std::string_view text : {"a", "a/b", "/~", "/~2", "/a~", "#/a", "$.a"}) {
    const auto tokens = pointer_tokens(text);
    ASSERT_FALSE(tokens) << text;
    EXPECT_EQ(tokens.error().code, Errc::invalid);
  }
}

TEST(AppendPointerToken, EscapesWhatParsingUnescapes) {
  for (std::string token : {"", "a", "a/b", "m~n", "~1", "/~/~", "é"}) {
    std::string pointer;
    append_pointer_token(pointer, token);
    EXPECT_EQ(*pointer_tokens(pointer), Tokens{token});
  }
}

TEST(PointerSet, IsWalkedByNameAndIndex) {
  const Tokens ignore{"/a/b", "/items/1"}, include{"/a"};
  const auto set = PointerSet::compile(ignore, include);
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->has_include());
  const auto a = set->member(set->root(), "a");
  EXPECT_TRUE(set->included(a));
  EXPECT_FALSE(set->ignored(a));
  EXPECT_TRUE(set->ignored(set->member(a, "b")));
  EXPECT_FALSE(set->included(set->member(a, "b")));
  const auto items = set->member(set->root(), "items");
  EXPECT_TRUE(set->ignored(set->element(items, 1)));
  EXPECT_EQ(set->element(items, 10), PointerSet::nowhere);
  EXPECT_EQ(set->member(PointerSet::nowhere, "a"), PointerSet::nowhere);
}

TEST(PointerSet, SaysWhichPointerIsWrong) {
  const Tokens good{"/a"}, bad{"/a", "b"};
  for (const auto& set : {PointerSet::compile(bad, good), PointerSet::compile(good, bad)}) {
    ASSERT_FALSE(set);
    EXPECT_TRUE(set.error().message.ends_with(": b"));
  }
}

}  // namespace
}  // namespace onceward
