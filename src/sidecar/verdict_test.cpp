#include "sidecar/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onceward::sidecar {
namespace {

using testing::HasSubstr;

Executed answered(int status, OutcomeClass outcome) {
  auto response = std::make_shared<Response>();
  response->status = static_cast<std::uint16_t>(status);
  return {Record{}, Answer{std::move(response), outcome, {}}, true};
}

Record record(State state, int status = 0) {
  Record made;
  made.state = state;
  if (status != 0) {
    auto response = std::make_shared<Response>();
    response->status = static_cast<std::uint16_t>(status);
    made.response = std::move(response);
  }
  return made;
}

std::string word(const Verdict& verdict) {
  if (const auto* done = std::get_if<Acknowledge>(&verdict)) return done->duplicate ? "duplicate" : "handled";
  if (const auto* again = std::get_if<TryAgain>(&verdict))
    return again->counted ? "again" : "again, not counted";
  return "dead: " + std::string(std::get<DeadLetter>(verdict).reason);
}

struct Case {
  const char* name;
  Outcome outcome;
  Attempts attempts;
  const char* verdict;
};
class Judge : public testing::TestWithParam<Case> {};

TEST_P(Judge, says_what_becomes_of_the_message) {
  EXPECT_EQ(word(judge(GetParam().outcome, GetParam().attempts)), GetParam().verdict);
}

constexpr Attempts first{.number = 1, .limit = 3};
constexpr Attempts last{.number = 3, .limit = 3};
constexpr Attempts beyond{.number = 4, .limit = 3, .exhausted = true};
constexpr Attempts first_forwarded{.number = 1, .limit = 3, .forwards = true};
constexpr Attempts last_forwarded{.number = 3, .limit = 3, .forwards = true};

Executed not_stored() {
  Executed executed = answered(200, OutcomeClass::replay);
  executed.stored = false;
  return executed;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Judge,
    testing::Values(
        Case{"handled", answered(200, OutcomeClass::replay), first, "handled"},
        Case{"handled_at_last", answered(204, OutcomeClass::replay), last, "handled"},
        Case{"rejected", answered(422, OutcomeClass::replay), first, "dead: rejected"},
        Case{"busy", answered(503, OutcomeClass::retry), first, "again"},
        Case{"busy_to_the_end", answered(503, OutcomeClass::retry), last, "dead: attempts"},
        Case{"unknown_status", answered(504, OutcomeClass::unknown), first, "dead: unknown"},
        Case{"unknown_forwarded", answered(504, OutcomeClass::unknown), first_forwarded, "again"},
        Case{"unknown_to_the_end", answered(504, OutcomeClass::unknown), last_forwarded, "dead: attempts"},
        Case{"no_answer", Executed{Record{}, NoAnswer{}, true}, first, "dead: unknown"},
        Case{"not_stored", not_stored(), last, "again, not counted"},
        Case{"replayed", Replayed{record(State::succeeded, 200)}, first, "duplicate"},
        Case{"replayed_failure", Replayed{record(State::failed, 400)}, first, "dead: rejected"},
        Case{"mismatch", Rejected{Rejection::mismatch, record(State::succeeded)}, first, "dead: mismatch"},
        Case{"held", Rejected{Rejection::unknown, record(State::unknown)}, first, "dead: unknown"},
        Case{"expired", Rejected{Rejection::expired, record(State::expired)}, first, "duplicate"},
        Case{"too_large_to_keep", Rejected{Rejection::not_stored, record(State::succeeded)}, first,
             "duplicate"},
        Case{"failure_too_large", Rejected{Rejection::not_stored, record(State::failed)}, first,
             "dead: rejected"},
        Case{"running", StillRunning{record(State::processing)}, last, "again, not counted"},
        Case{"unreachable", Unreachable{"refused"}, first, "again"},
        Case{"unreachable_to_the_end", Unreachable{"refused"}, last, "dead: attempts"},
        Case{"tried_too_often", Unreachable{""}, beyond, "dead: attempts"},
        Case{"no_store", StoreFailed{{Errc::unavailable, "down"}}, last, "again, not counted"},
        Case{"unreadable", StoreFailed{{Errc::unreadable, "broken"}}, last, "again, not counted"}),
    [](const auto& info) { return info.param.name; });

TEST(Judge, names_the_operation_whose_outcome_is_not_known) {
  Record held = record(State::unknown);
  held.operation_id.data[0] = 0xab;
  const Verdict verdict = judge(Rejected{Rejection::unknown, held}, first);
  EXPECT_THAT(std::get<DeadLetter>(verdict).error, HasSubstr("ab000000-"));
}

}  // namespace
}  // namespace onceward::sidecar
