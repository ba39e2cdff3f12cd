#include "onceward/inbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"

namespace onceward {
namespace {

using Kind = Consumed::Kind;
using Reason = Consumed::Reason;

Engine open_engine(OnUnknown on_unknown = OnUnknown::hold, const std::string& store = "memory") {
  EngineOptions options;
  options.store = store;
  options.defaults.on_unknown = on_unknown;
  Result<Engine> opened = Engine::open(options);
  EXPECT_TRUE(opened) << opened.error().message;
  return std::move(*opened);
}

class InboxTest : public ::testing::Test {
 protected:
  Inbox::Handler counts(Handling handling) {
    return [this, handling](const Message&, const Ticket&) {
      ++calls_;
      return handling;
    };
  }
  static Message message(const std::string& id) { return {.id = id, .payload = "{\"order\":1}"}; }

  std::atomic<int> calls_ = 0;
  Engine engine_ = open_engine();
  Inbox inbox_{engine_, {.consumer = "billing", .attempts = 3}};
};

TEST_F(InboxTest, a_message_that_comes_ten_times_is_handled_once) {
  const Consumed first = inbox_.consume(message("m"), counts(Handling::done("receipt")));
  EXPECT_EQ(first.kind, Kind::handled);
  EXPECT_TRUE(first.acknowledge());
  for (int i = 0; i < 9; ++i) {
    const Consumed again = inbox_.consume(message("m"), counts(Handling::done("other")));
    EXPECT_EQ(again.kind, Kind::duplicate);
    EXPECT_TRUE(again.acknowledge());
    EXPECT_EQ(again.value, "receipt");
    EXPECT_EQ(again.operation_id, first.operation_id);
  }
  EXPECT_EQ(calls_, 1);
}

TEST_F(InboxTest, a_message_that_comes_ten_times_at_once_is_handled_once) {
  std::vector<std::thread> deliveries;
  std::atomic<int> handled = 0;
  for (int i = 0; i < 10; ++i) {
    deliveries.emplace_back([&] {
      const Consumed consumed = inbox_.consume(message("m"), counts(Handling::done()));
      if (consumed.kind == Kind::handled) ++handled;
      EXPECT_TRUE(consumed.acknowledge());
    });
  }
  for (std::thread& delivery : deliveries) delivery.join();
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(handled, 1);
}

TEST_F(InboxTest, each_consumer_handles_a_message_for_itself) {
  Inbox shipping(engine_, {.consumer = "shipping"});
  EXPECT_EQ(inbox_.consume(message("m"), counts(Handling::done())).kind, Kind::handled);
  EXPECT_EQ(shipping.consume(message("m"), counts(Handling::done())).kind, Kind::handled);
  EXPECT_EQ(calls_, 2);
}

TEST_F(InboxTest, a_command_of_the_same_name_and_key_is_another_matter) {
  EXPECT_EQ(inbox_.consume(message("m"), counts(Handling::done())).kind, Kind::handled);
  const Outcome outcome = engine_.run({.operation = "billing", .key = "m", .payload = "{}"},
                                      [](const Ticket&) { return Effect::succeeded("x"); });
  EXPECT_TRUE(outcome.ran);
}

TEST_F(InboxTest, a_handler_that_fails_is_called_again_until_the_attempts_are_used_up) {
  const Consumed first = inbox_.consume(message("m"), counts(Handling::failed("no database")));
  EXPECT_EQ(first.kind, Kind::retry);
  EXPECT_EQ(first.reason, Reason::failed);
  EXPECT_EQ(first.error, "no database");
  EXPECT_FALSE(first.acknowledge());
  EXPECT_EQ(first.attempts, 1u);
  const Consumed second = inbox_.consume(message("m"), counts(Handling::failed("no database")));
  EXPECT_EQ(second.pause, 2 * first.pause);
  const Consumed third = inbox_.consume(message("m"), counts(Handling::failed("no database")));
  EXPECT_EQ(third.kind, Kind::dead_letter);
  EXPECT_EQ(third.reason, Reason::attempts);
  EXPECT_EQ(third.attempts, 3u);
  EXPECT_FALSE(third.acknowledge());  // nobody has put it aside
  // A copy that was still on its way does not buy another attempt.
  EXPECT_EQ(inbox_.consume(message("m"), counts(Handling::done())).kind, Kind::dead_letter);
  EXPECT_EQ(calls_, 3);
}

TEST_F(InboxTest, a_dead_letter_that_was_put_back_has_as_many_attempts_again) {
  Consumed last;
  for (int i = 0; i < 3; ++i) last = inbox_.consume(message("m"), counts(Handling::failed("no")));
  Message again = message("m");
  again.attempts_before = last.attempts;
  EXPECT_EQ(inbox_.consume(again, counts(Handling::failed("no"))).kind, Kind::retry);
  EXPECT_EQ(inbox_.consume(again, counts(Handling::done())).kind, Kind::handled);
  EXPECT_EQ(calls_, 5);
}

TEST_F(InboxTest, a_message_that_was_not_tried_before_has_no_more_attempts_for_saying_so) {
  for (const std::uint64_t lie : {std::uint64_t{3}, std::uint64_t{4'294'967'295}, ~std::uint64_t{0}}) {
    calls_ = 0;
    Message hostile = message(std::to_string(lie));
    hostile.attempts_before = lie;
    EXPECT_EQ(inbox_.consume(hostile, counts(Handling::failed("no"))).kind, Kind::retry) << lie;
    EXPECT_EQ(inbox_.consume(hostile, counts(Handling::failed("no"))).kind, Kind::retry) << lie;
    EXPECT_EQ(inbox_.consume(hostile, counts(Handling::failed("no"))).reason, Reason::attempts) << lie;
    EXPECT_EQ(calls_, 3) << lie;
  }
}

TEST_F(InboxTest, a_rejected_message_goes_to_the_dead_letters_once_they_have_it) {
  bool safe = false;
  std::vector<std::string> letters;
  Inbox inbox(engine_,
              {.consumer = "billing", .dead_letter = [&](const Message& letter, const Consumed& why) {
                 if (safe) letters.push_back(letter.id + ": " + why.error);
                 return safe;
               }});
  EXPECT_FALSE(inbox.consume(message("m"), counts(Handling::rejected("no such order"))).acknowledge());
  safe = true;
  const Consumed again = inbox.consume(message("m"), counts(Handling::done()));
  EXPECT_EQ(again.reason, Reason::rejected);
  EXPECT_TRUE(again.acknowledge());
  EXPECT_EQ(letters, std::vector<std::string>{"m: no such order"});
  EXPECT_EQ(calls_, 1);
}

TEST_F(InboxTest, another_payload_under_the_same_id_is_put_aside_unhandled) {
  EXPECT_EQ(inbox_.consume({.id = "m", .payload = "a"}, counts(Handling::done())).kind, Kind::handled);
  const Consumed other = inbox_.consume({.id = "m", .payload = "b"}, counts(Handling::done()));
  EXPECT_EQ(other.kind, Kind::dead_letter);
  EXPECT_EQ(other.reason, Reason::mismatch);
  EXPECT_EQ(calls_, 1);
}

TEST_F(InboxTest, a_message_without_an_id_is_put_aside_unhandled) {
  EXPECT_EQ(inbox_.consume(message(""), counts(Handling::done())).reason, Reason::invalid);
  EXPECT_EQ(calls_, 0);
}

TEST_F(InboxTest, what_may_have_happened_is_not_handled_again) {
  EXPECT_THROW(
      (void)inbox_.consume(message("m"),
                           [](const Message&, const Ticket&) -> Handling { throw std::runtime_error("?"); }),
      std::runtime_error);
  const Consumed again = inbox_.consume(message("m"), counts(Handling::done()));
  EXPECT_EQ(again.kind, Kind::dead_letter);
  EXPECT_EQ(again.reason, Reason::unknown);
  EXPECT_EQ(calls_, 0);
}

TEST_F(InboxTest, under_forward_it_is_handled_again_with_the_same_operation_and_a_higher_epoch) {
  Engine engine = open_engine(OnUnknown::forward);
  Inbox inbox(engine, {.consumer = "billing", .attempts = 3});
  std::vector<Ticket> tickets;
  const auto handler = [&](Handling handling) {
    return [&tickets, handling](const Message&, const Ticket& ticket) {
      tickets.push_back(ticket);
      return handling;
    };
  };
  EXPECT_EQ(inbox.consume(message("m"), handler(Handling::unknown("lost"))).kind, Kind::retry);
  EXPECT_EQ(inbox.consume(message("m"), handler(Handling::done())).kind, Kind::handled);
  ASSERT_EQ(tickets.size(), 2u);
  EXPECT_EQ(tickets[0].operation_id, tickets[1].operation_id);
  EXPECT_LT(tickets[0].epoch, tickets[1].epoch);
}

TEST_F(InboxTest, attempts_are_still_known_after_a_restart) {
  const testing::TemporaryFolder folder;
  const std::string store = "file:" + folder.path() + "/store";
  for (int attempt = 1; attempt <= 3; ++attempt) {
    Engine engine = open_engine(OnUnknown::hold, store);
    Inbox inbox(engine, {.consumer = "billing", .attempts = 3});
    const Consumed consumed = inbox.consume(message("m"), counts(Handling::failed("no")));
    EXPECT_EQ(consumed.attempts, static_cast<std::uint64_t>(attempt));
    EXPECT_EQ(consumed.kind, attempt < 3 ? Kind::retry : Kind::dead_letter);
  }
}

}  // namespace
}  // namespace onceward
