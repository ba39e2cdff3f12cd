#include "cli/api_tokens.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/hex.hpp"
#include "base/system.hpp"
#include "support/temporary_folder.hpp"

namespace onceward::cli {
namespace {

std::string hash_of(std::string_view token) { return to_hex(sha256(token)); }

TEST(ApiTokens, AreOneTokenWithEveryRole) {
  for (const char* text : {"secret", "secret\n", "  secret \r\n\n"}) {
    const Result<Tokens> tokens = tokens_from_text(text);
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_EQ(tokens->find("secret")->roles, every_role);
    EXPECT_EQ(tokens->find("secret")->name, "admin");
  }
}

TEST(ApiTokens, AreEntriesInAnySpellingOfAList) {
  const std::string a = "name: ada, role: read, sha256: " + hash_of("a");
  const std::string b = "name: bob, role: app, sha256: \"" + hash_of("b") + "\"";
  for (const std::string& text :
       {"{" + a + "}\n{" + b + "}\n", "- {" + a + "}\n- {" + b + "}\n",
        "# tokens\n\n{" + a + "}\n\n- {" + b + "}\n", "[{" + a + "}, {" + b + "}]",
        "- name: ada\n  role: read\n  sha256: " + hash_of("a") + "\n- {" + b + "}\n"}) {
    const Result<Tokens> tokens = tokens_from_text(text);
    ASSERT_TRUE(tokens) << text << tokens.error().message;
    EXPECT_EQ(tokens->find("a")->name, "ada") << text;
    EXPECT_EQ(tokens->find("a")->roles, roles_of(Role::read));
    EXPECT_EQ(tokens->find("b")->roles, roles_of(Role::app));
    EXPECT_FALSE(tokens->find("c"));
  }
}

TEST(ApiTokens, AreRefusedWhenSomethingIsMissing) {
  const std::string hash = hash_of("a");
  for (const std::string& text : std::vector<std::string>{
           "", "\n", "two words", "{name: a}", "{name: a, role: admin, sha256: " + hash + "}",
           "{name: '', role: read, sha256: " + hash + "}", "{name: a, role: read, sha256: abc}",
           "{name: a, role: read, sha256: " + hash + ", more: 1}", "- a\n- b\n", "{name: a, role: read",
           "name: a\nrole: read\nsha256: " + hash})
    EXPECT_FALSE(tokens_from_text(text)) << text;
}

TEST(ApiTokens, AreMadeOnceAndKeptForTheirOwner) {
  const onceward::testing::TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  SystemRandom random;
  const Result<std::string> first = kept_admin_token(folder, random);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GE(first->size(), 32u);
  EXPECT_FALSE(is_readable_by_others(folder + "/admin.token"));
  const Result<std::string> again = kept_admin_token(folder, random);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *first);
  std::ofstream(folder + "/admin.token") << "";
  EXPECT_FALSE(kept_admin_token(folder, random)) << "an empty file is no token";
  EXPECT_FALSE(kept_admin_token(folder + "/none", random));
}

}  // namespace
}  // namespace onceward::cli
