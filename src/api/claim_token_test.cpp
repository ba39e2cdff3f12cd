#include "api/claim_token.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

Fence some_fence() {
  Fence fence;
  for (std::size_t i = 0; i < 32; ++i) fence.scope.data[i] = static_cast<std::uint8_t>(i * 7);
  for (std::size_t i = 0; i < 16; ++i) fence.operation_id.data[i] = static_cast<std::uint8_t>(200 + i);
  for (std::size_t i = 0; i < 16; ++i) fence.owner.data[i] = static_cast<std::uint8_t>(255 - i);
  fence.epoch = 0x0102030405060708;
  return fence;
}

TEST(ClaimToken, NamesItsFence) {
  const Fence fence = some_fence();
  const auto read = fence_from_token(claim_token(fence), fence.operation_id);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->scope, fence.scope);
  EXPECT_EQ(read->operation_id, fence.operation_id);
  EXPECT_EQ(read->epoch, fence.epoch);
  EXPECT_EQ(read->owner, fence.owner);
}

TEST(ClaimToken, IsNothingForAnotherOperationOrFromNobody) {
  Fence fence = some_fence();
  EXPECT_FALSE(fence_from_token(claim_token(fence), OperationId{}));
  fence.owner = {};
  EXPECT_FALSE(fence_from_token(claim_token(fence), fence.operation_id));
}

TEST(ClaimToken, IsNothingWhenItIsNotWhole) {
  const Fence fence = some_fence();
  const std::string token = claim_token(fence);
  for (std::size_t cut = 0; cut < token.size(); ++cut)
    EXPECT_FALSE(fence_from_token(token.substr(0, cut), fence.operation_id)) << cut;
  EXPECT_FALSE(fence_from_token(token + "A", fence.operation_id));
  EXPECT_FALSE(fence_from_token("B" + token.substr(1), fence.operation_id)) << "another version";
}

}  // namespace
}  // namespace onceward
