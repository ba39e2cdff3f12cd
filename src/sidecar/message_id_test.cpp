#include "sidecar/message_id.hpp"

#include <gtest/gtest.h>

namespace onceward::sidecar {
namespace {

messaging::Message message() {
  messaging::Message made;
  made.id = "m-1";
  made.body = R"({"order":{"id":42},"note":"x"})";
  made.headers = {{"X-Event", "e-7"}, {"empty", ""}};
  return made;
}

struct Case {
  const char* rule;
  const char* id;
};
class MessageId : public testing::TestWithParam<Case> {};

TEST_P(MessageId, is_found_where_the_rule_says) {
  EXPECT_EQ(*message_id(message(), GetParam().rule), GetParam().id);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MessageId,
    testing::Values(Case{"message-id", "m-1"}, Case{"header:message-id", "m-1"},
                    Case{"header:x-event", "e-7"}, Case{"json:/order/id", "42"}, Case{"json:/note", "x"},
                    Case{"content", "b640f9b846e614af087c4817a40d14e47c45c2102255ae6f92170528915e198e"}));

class NoMessageId : public testing::TestWithParam<const char*> {};

TEST_P(NoMessageId, is_an_error_that_names_the_rule) {
  messaging::Message nameless = message();
  nameless.id.clear();
  const Result<std::string> id = message_id(nameless, GetParam());
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().message, std::string("the message has no id at ") + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Table, NoMessageId,
                         testing::Values("message-id", "header:other", "header:empty", "json:/missing",
                                         "json:/order"));

}  // namespace
}  // namespace onceward::sidecar
