#include "api/tokens.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(Tokens, KnowWhatEachMayDo) {
  Tokens tokens;
  EXPECT_FALSE(tokens.find("")) << "no tokens: nobody may do anything";
  tokens.add("service", roles_of(Role::app), sha256("a"));
  tokens.add("viewer", roles_of(Role::read), sha256("b"));
  tokens.add("operator", roles_of(Role::operate), sha256("c"));
  tokens.add("both", roles_of(Role::app), sha256("c"));
  struct Case {
    const char* token;
    const char* name;
    bool app, read, operate;
  };
  for (const Case& c : {Case{"a", "service", true, false, false}, Case{"b", "viewer", false, true, false},
                        Case{"c", "operator", true, true, true}}) {
    const auto found = tokens.find(c.token);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, c.name);
    EXPECT_EQ(has_role(found->roles, Role::app), c.app);
    EXPECT_EQ(has_role(found->roles, Role::read), c.read);
    EXPECT_EQ(has_role(found->roles, Role::operate), c.operate);
  }
  for (const char* wrong : {"", "d", "A", "a ", " a"}) EXPECT_FALSE(tokens.find(wrong)) << wrong;
}

TEST(Tokens, AreReadFromTheAuthorizationLine) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bearer  abc"), "abc");
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer  ", "Basic abc", "abc", "Bearerabc"})
    EXPECT_FALSE(bearer_token(wrong)) << wrong;
}

}  // namespace
}  // namespace onceward
