#include "core/event_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace onceward {
namespace {

using namespace std::chrono_literals;

const Timestamp start{std::chrono::days{20'000}};
using Queue = EventQueue<int>;

Scope scope(std::uint8_t n) {
  Scope made;
  made.data[0] = n;
  return made;
}

void add(Queue& queue, std::uint64_t sequence, std::uint8_t of, Timestamp due_at = start) {
  Queue::Queued event;
  event.sequence = sequence;
  event.scope = scope(of);
  event.key = event_key(std::to_string(sequence));
  event.created_at = start;
  event.due_at = due_at;
  ASSERT_TRUE(queue.add(std::move(event)));
}

std::string due(Queue& queue, Timestamp now, std::size_t limit = 100) {
  std::string found;
  for (const Queue::Queued* event : queue.due(now, limit)) found += std::to_string(event->sequence) + " ";
  return found;
}

Queue::Queued& at(Queue& queue, std::uint64_t sequence) { return *queue.find(sequence); }

TEST(EventQueue, events_go_in_order_and_a_limit_cuts_them_off) {
  Queue queue;
  for (std::uint8_t n = 1; n <= 4; ++n) add(queue, n, n % 2);
  EXPECT_EQ(due(queue, start), "1 2 3 4 ");
  EXPECT_EQ(due(queue, start, 3), "1 2 3 ");
}

TEST(EventQueue, an_event_waits_behind_one_of_its_scope_that_is_not_due) {
  Queue queue;
  for (std::uint8_t n = 1; n <= 4; ++n) add(queue, n, n % 2);
  queue.fail(at(queue, 1), "no", start + 5s, false);
  EXPECT_EQ(due(queue, start), "2 4 ");
  EXPECT_EQ(due(queue, start + 5s), "1 2 3 4 ");
  EXPECT_EQ(at(queue, 1).attempts, 1u);
  EXPECT_EQ(*at(queue, 1).last_error, "no");
}

TEST(EventQueue, what_is_set_aside_holds_nothing_up_and_comes_back_at_its_place) {
  Queue queue;
  for (std::uint8_t n = 1; n <= 3; ++n) add(queue, n, 1);
  queue.fail(at(queue, 1), "poison", start, true);
  EXPECT_EQ(due(queue, start), "2 3 ");
  EXPECT_EQ(queue.pending(), 2u);
  EXPECT_EQ(queue.set_aside(), 1u);
  EXPECT_TRUE(queue.retry(at(queue, 1), start));
  EXPECT_FALSE(queue.retry(at(queue, 1), start));
  EXPECT_EQ(due(queue, start), "1 2 3 ");
  EXPECT_EQ(at(queue, 1).attempts, 0u);
}

TEST(EventQueue, an_id_is_taken_once) {
  Queue queue;
  add(queue, 1, 1);
  Queue::Queued again;
  again.sequence = 2;
  again.key = event_key("1");
  EXPECT_FALSE(queue.add(std::move(again)));
  EXPECT_EQ(queue.size(), 1u);
}

// The whole rule in a few lines: in order of sequence, all that is due and has nothing before it in its
// scope that waits.
std::string by_the_rule(const std::map<std::uint64_t, std::pair<std::uint8_t, Timestamp>>& events,
                        Timestamp now) {
  std::string found;
  std::set<std::uint8_t> held_up;
  for (const auto& [sequence, event] : events) {
    if (event.second > now) held_up.insert(event.first);
    if (!held_up.contains(event.first)) found += std::to_string(sequence) + " ";
  }
  return found;
}

TEST(EventQueue, a_random_run_agrees_with_the_rule) {
  const std::uint64_t seed = 20260101;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Queue queue;
  std::map<std::uint64_t, std::pair<std::uint8_t, Timestamp>> model;
  Timestamp now = start;
  for (std::uint64_t step = 1; step < 3'000; ++step) {
    const auto some = model.empty()
                          ? model.end()
                          : std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
    switch (random() % 4) {
      case 0:
        add(queue, step, static_cast<std::uint8_t>(random() % 5), now);
        model[step] = {queue.find(step)->scope.data[0], now};
        break;
      case 1:
        if (some == model.end()) break;
        queue.remove(some->first);
        model.erase(some);
        break;
      case 2: {
        if (some == model.end()) break;
        const Timestamp later = now + Duration(random() % 50);
        queue.fail(at(queue, some->first), "no", later, false);
        some->second.second = later;
        break;
      }
      case 3:
        now += Duration(random() % 20);
    }
    ASSERT_EQ(due(queue, now, 10'000), by_the_rule(model, now)) << "step " << step;
    ASSERT_EQ(queue.pending(), model.size());
  }
}

TEST(EventQueue, a_relay_settles_only_while_its_claim_lives) {
  Record record;
  record.scope = scope(3);
  record.epoch = 2;
  record.owner.data[0] = 5;
  record.state = State::processing;
  record.lease_until = record.hold_until = start + 30s;
  record.request = std::make_shared<const RequestInfo>();
  const Fence relay = fence_of(record);
  EXPECT_TRUE(check_relay(&record, relay, start));
  Fence older = relay;
  older.epoch = 1;
  Fence other = relay;
  other.owner.data[0] = 6;
  EXPECT_EQ(check_relay(&record, older, start).error().code, Errc::stale);
  EXPECT_EQ(check_relay(&record, other, start).error().code, Errc::stale);
  EXPECT_EQ(check_relay(&record, relay, start + 30s).error().code, Errc::stale);
  EXPECT_EQ(check_relay(nullptr, relay, start).error().code, Errc::stale);
}

TEST(EventQueue, cursors_name_a_place_or_are_refused) {
  PendingEvent last;
  last.scope = scope(0x13);
  last.sequence = 42;
  const Result<EventPosition> position = parse_event_cursor(event_cursor(last));
  ASSERT_TRUE(position);
  EXPECT_EQ(position->partition, 3u);
  EXPECT_EQ(position->after, 42u);
  for (const char* bad : {"x", "1", "1.", ".1", "1.2x", "-1.2"})
    EXPECT_EQ(parse_event_cursor(bad).error().code, Errc::invalid) << bad;
}

}  // namespace
}  // namespace onceward
