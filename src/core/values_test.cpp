#include "onceward/values.hpp"

#include <gtest/gtest.h>

#include <set>

namespace onceward {
namespace {

TEST(Values, EveryStateHasItsOwnNameAndComesBackFromIt) {
  std::set<std::string_view> names;
  for (int i = 1; i <= 7; ++i) {
    const auto state = static_cast<State>(i);
    names.insert(to_string(state));
    EXPECT_EQ(state_from_string(to_string(state)), state);
  }
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(to_string(State::claimed), "claimed");
  EXPECT_EQ(to_string(State::expired), "expired");
}

TEST(Values, AStateIsNotGuessed) {
  for (std::string_view text : {"", "Claimed", "claimed ", "none"})
    EXPECT_EQ(state_from_string(text), std::nullopt);
}

TEST(Values, EveryCauseHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= 8; ++i) names.insert(to_string(static_cast<UnknownCause>(i)));
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(to_string(UnknownCause::half_answer), "half_answer");
  EXPECT_EQ(to_string(UnknownCause::shutdown), "shutdown");
}

TEST(Values, AnOperationIdIsWrittenAsAUuidAndReadBack) {
  OperationId id;
  for (std::size_t i = 0; i < id.data.size(); ++i) id.data[i] = static_cast<std::uint8_t>(i * 17);
  EXPECT_EQ(to_string(id), "00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(operation_id_from_string(to_string(id)), id);
  EXPECT_EQ(operation_id_from_string("00112233-4455-6677-8899-AABBCCDDEEFF"), id);
}

TEST(Values, WhatIsNoUuidIsNoOperationId) {
  for (std::string_view text :
       {"", "00112233-4455-6677-8899-aabbccddeef", "00112233-4455-6677-8899-aabbccddeeff0",
        "00112233445566778899aabbccddeeff0000", "00112233-4455-6677-8899-aabbccddeefg",
        "0011223-34455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899_aabbccddeeff"})
    EXPECT_EQ(operation_id_from_string(text), std::nullopt) << text;
}

}  // namespace
}  // namespace onceward
