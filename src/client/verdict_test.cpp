#include "client/verdict.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "support/vectors.hpp"

namespace onceward::client {
namespace {

namespace json = boost::json;

std::string text(const json::object& entry, const char* name) {
  const json::value* value = entry.if_contains(name);
  return value ? std::string(value->as_string()) : std::string();
}

std::string name_of(Action action) {
  constexpr const char* names[] = {"done", "retry", "wait", "stop"};
  return names[static_cast<int>(action)];
}

std::string name_of(Doubt doubt) {
  constexpr const char* names[] = {"settled", "kept", "raised"};
  return names[static_cast<int>(doubt)];
}

TEST(Verdict, AgreesWithTheTableThatAllClientsShare) {
  const json::value table = json::parse(test::read_vector(ONCEWARD_VECTORS "/client/answers.json"));
  ASSERT_GT(table.as_array().size(), 40u);
  for (const json::value& line : table.as_array()) {
    const json::object& entry = line.as_object();
    const std::string code = text(entry, "code");
    const std::string location = text(entry, "location");
    Signs signs{.status = static_cast<int>(entry.at("status").as_int64()), .code = code};
    signs.location = location;
    if (const json::value* original = entry.if_contains("originalStatus"))
      signs.original_status = static_cast<int>(original->as_int64());
    signs.has_retry_after = entry.contains("retryAfter");
    const Verdict verdict = classify(signs);
    EXPECT_EQ(name_of(verdict.action), text(entry, "action")) << entry;
    EXPECT_EQ(name_of(verdict.doubt), text(entry, "doubt")) << entry;
  }
}

TEST(Verdict, ALostAnswerIsAskedForAgainAndInDoubt) {
  EXPECT_EQ(no_answer(true), (Verdict{Action::retry, Doubt::raised}));
  EXPECT_EQ(no_answer(false), (Verdict{Action::retry, Doubt::kept}));
}

}  // namespace
}  // namespace onceward::client
