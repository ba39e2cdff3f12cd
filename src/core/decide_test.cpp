#include "core/decide.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

Fingerprint fingerprint(std::uint16_t version, std::uint8_t n) {
  Fingerprint made{version, {}};
  made.digest.data[0] = n;
  return made;
}

std::string describe(const Decision& decision) {
  if (std::holds_alternative<Execute>(decision)) return "execute";
  if (std::holds_alternative<Replay>(decision)) return "replay";
  if (std::holds_alternative<Wait>(decision)) return "wait";
  if (const auto* again = std::get_if<CompareAgain>(&decision))
    return "compare under " + std::to_string(again->version);
  constexpr const char* why[] = {"mismatch", "unknown", "expired", "not stored"};
  return why[static_cast<int>(std::get<Reject>(decision).why)];
}

struct Case {
  State state;
  const char* same_request;
  bool stored = true;    // final: has a response
  bool omitted = false;  // its body was too large
};

TEST(Decide, what_a_duplicate_may_do_in_every_state) {
  const Case cases[] = {
      {State::claimed, "wait"},
      {State::processing, "wait"},
      {State::released, "wait"},
      {State::succeeded, "replay"},
      {State::failed, "replay"},
      {State::unknown, "unknown"},
      {State::expired, "expired"},
      {State::succeeded, "not stored", false},
      {State::succeeded, "not stored", true, true},
      {State::failed, "not stored", true, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.state));
    Record record;
    record.state = c.state;
    record.fingerprint = fingerprint(1, 1);
    if (is_final(c.state) && c.state != State::expired && c.stored)
      record.response = std::make_shared<const Response>(Response{200, c.omitted, "", ""});
    EXPECT_EQ(describe(decide_duplicate(record, fingerprint(1, 1))), c.same_request);
    EXPECT_EQ(describe(decide_duplicate(record, fingerprint(1, 2))), "mismatch");
    EXPECT_EQ(describe(decide_duplicate(record, fingerprint(2, 1))), "compare under 1");
    record.fingerprint = {};  // bound to nothing: no request differs from it
    EXPECT_EQ(describe(decide_duplicate(record, fingerprint(1, 2))), c.same_request);
  }
}

TEST(Decide, a_granted_claim_executes_whatever_the_record_says) {
  ClaimReply reply;
  reply.granted = true;
  reply.record.state = State::processing;
  reply.record.fingerprint = fingerprint(1, 9);
  EXPECT_EQ(describe(decide(reply, fingerprint(1, 1))), "execute");
  reply.granted = false;
  EXPECT_EQ(describe(decide(reply, fingerprint(1, 9))), "wait");
}

}  // namespace
}  // namespace onceward
