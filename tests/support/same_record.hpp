// Two records that differ in nothing; a difference is told by its field.
#pragma once

#include <gtest/gtest.h>

#include "onceward/values.hpp"

namespace onceward::testing {

inline void expect_same(const Record& a, const Record& b) {
  EXPECT_EQ(a.scope, b.scope);
  EXPECT_EQ(a.operation_id, b.operation_id);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.evidence, b.evidence);
  EXPECT_EQ(a.created_at, b.created_at);
  EXPECT_EQ(a.claimed_at, b.claimed_at);
  EXPECT_EQ(a.updated_at, b.updated_at);
  EXPECT_EQ(a.lease_until, b.lease_until);
  EXPECT_EQ(a.hold_until, b.hold_until);
  EXPECT_EQ(a.expires_at, b.expires_at);
  EXPECT_EQ(a.ttl, b.ttl);
  EXPECT_EQ(a.receipt_ttl, b.receipt_ttl);
  EXPECT_EQ(*a.request, *b.request);
  ASSERT_EQ(a.response == nullptr, b.response == nullptr);
  if (a.response) EXPECT_EQ(*a.response, *b.response);
  ASSERT_EQ(a.result == nullptr, b.result == nullptr);
  if (a.result) EXPECT_EQ(*a.result, *b.result);
}

}  // namespace onceward::testing
