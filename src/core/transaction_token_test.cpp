#include "core/transaction_token.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

OwnerNonce counting() {
  OwnerNonce owner;
  for (std::size_t i = 0; i < owner.data.size(); ++i) owner.data[i] = static_cast<std::uint8_t>(i);
  return owner;
}

const OperationId id = *operation_id_from_string("0190b5a3-6f3e-7c2e-9d1a-2f6c1a7e4b10");

// The schema's onceward.proof() makes the same digits of the same nonce; this is the form it agrees on.
TEST(TransactionToken, HasOneForm) {
  EXPECT_EQ(transaction_token(id, 7, counting()),
            "0190b5a3-6f3e-7c2e-9d1a-2f6c1a7e4b10.7.d89a57464b9d12f92db2c170811161e3");
}

TEST(TransactionToken, DiffersByClaimAndHidesTheNonce) {
  OwnerNonce other = counting();
  other.data[15] ^= 1;
  EXPECT_NE(transaction_token(id, 7, counting()), transaction_token(id, 8, counting()));
  EXPECT_NE(transaction_token(id, 7, counting()), transaction_token(id, 7, other));
  EXPECT_EQ(transaction_token(id, 7, counting()).find("0001020304050607"), std::string::npos);
}

}  // namespace
}  // namespace onceward
