#include "core/scope.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "base/hex.hpp"

namespace onceward {
namespace {

TEST(ScopeOf, EveryPartAndItsPlaceMatters) {
  const std::set<Scope> scopes{scope_of("t", "c", "op", "k", ""),
                               scope_of("t", "c", "op", "k2", ""),
                               scope_of("t", "c", "op2", "k", ""),
                               scope_of("t", "c2", "op", "k", ""),
                               scope_of("t2", "c", "op", "k", ""),
                               scope_of(std::nullopt, "c", "op", "k", ""),
                               scope_of("", "c", "op", "k", ""),
                               scope_of("t", std::nullopt, "op", "k", ""),
                               scope_of("t", "", "op", "k", ""),
                               scope_of("c", "t", "op", "k", ""),
                               scope_of("tc", "", "op", "k", ""),
                               scope_of("t", "co", "p", "k", ""),
                               scope_of("t", "c", "o", "pk", ""),
                               scope_of("t", "c", "opk", "", ""),
                               scope_of(std::nullopt, "tc", "op", "k", ""),
                               scope_of("t", "c", "op", "k", "secret"),
                               scope_of("t", "c", "op", "k", "secret2")};
  EXPECT_EQ(scopes.size(), 17u);
}

TEST(ScopeOf, IsTheSameEachTime) {
  EXPECT_EQ(scope_of("t", std::nullopt, "op", "k", "s"), scope_of("t", std::nullopt, "op", "k", "s"));
}

TEST(ScopeOf, IsTheHashOfItsPartsAlsoWhereNothingWasHashedBefore) {
  // sha256 of "onceward scope 1\n" and the parts with their lengths: what is stored must be found for ever.
  constexpr std::string_view expected = "e8158dd51e7e57caa82da508a1be9be200b09aa892ea06721b089a7b4d1165d9";
  const auto hex = [] { return to_hex(scope_of("acme", std::nullopt, "POST /orders", "k-1", "").data); };
  EXPECT_EQ(hex(), expected);
  std::string on_a_new_thread;  // whose scratch memory has yet to grow
  std::jthread([&] { on_a_new_thread = hex(); }).join();
  EXPECT_EQ(on_a_new_thread, expected);
}

TEST(KeyHint, IsTheBeginningOfTheKeysHash) {
  EXPECT_EQ(key_hint("abc", ""), "ba7816bf");                               // sha256sum of abc
  EXPECT_EQ(key_hint("what do ya want for nothing?", "Jefe"), "5bdcc146");  // RFC 4231, case 2
}

TEST(MakeOperationId, IsAVersion7UuidOfTheTime) {
  const Timestamp now{std::chrono::milliseconds(0x017f22e279b0)};  // RFC 9562, appendix A.6
  const OperationId id = make_operation_id(scope_of("t", "c", "op", "k", ""), now, 0xfcc3);
  EXPECT_EQ(to_string(id).substr(0, 18), "017f22e2-79b0-7cc3");
  EXPECT_EQ(id.data[8] >> 6, 2);
}

TEST(ScopePrefix, IsTheSameForAScopeAndItsOperations) {
  for (int i = 0; i < 100; ++i) {
    const Scope scope = scope_of("t", "c", "op", std::to_string(i), "");
    const OperationId id = make_operation_id(scope, Timestamp{std::chrono::milliseconds(i)}, 7);
    EXPECT_EQ(scope_prefix(id), scope_prefix(scope));
    EXPECT_LT(scope_prefix(id), std::uint64_t{1} << 62);
  }
  Scope scope;
  scope.data = {0x80, 0, 0, 0, 0, 0, 0, 0x07};
  EXPECT_EQ(scope_prefix(scope), (std::uint64_t{1} << 61) + 1);
}

}  // namespace
}  // namespace onceward
