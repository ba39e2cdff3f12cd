// Marks and events in the log: through sealing, cleaning, damage and restarts, and what an older release
// may read.
#include <filesystem>
#include <fstream>
#include <set>

#include "stores/embedded/internal_record.hpp"
#include "stores/embedded/log_format.hpp"
#include "stores/embedded/store_fixture.hpp"

namespace onceward::embedded {
namespace {

using namespace std::chrono_literals;

TEST(InternalRecord, a_mark_and_an_event_come_back_as_they_were) {
  MarkEntry entry;
  entry.scope.data[3] = 7;
  entry.holder.kind = MarkKind::suspect;
  entry.holder.scope.data[1] = 9;
  entry.holder.operation_id.data[2] = 11;
  for (const auto until : {std::optional<Timestamp>{}, std::optional(Timestamp(123456s))}) {
    entry.until = until;
    EXPECT_EQ(mark_entry(mark_record(entry)), entry);
    EXPECT_EQ(role_of(mark_record(entry)), Role::mark);
  }
  PendingEvent event;
  event.sequence = 42;
  event.scope.data[0] = 3;
  event.event = {"id", "type", "", std::string("\0payload", 8)};
  event.created_at = Timestamp(1s);
  event.due_at = Timestamp(2s);
  event.attempts = 5;
  event.last_error = std::string(300, 'e');
  event.set_aside = true;
  const std::optional<PendingEvent> back = pending_event(event_record(event));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->event, event.event);
  EXPECT_EQ(back->sequence, event.sequence);
  EXPECT_EQ(back->scope, event.scope);
  EXPECT_EQ(back->created_at, event.created_at);
  EXPECT_EQ(back->due_at, event.due_at);
  EXPECT_EQ(back->attempts, event.attempts);
  EXPECT_EQ(back->last_error, event.last_error);
  EXPECT_TRUE(back->set_aside);
  EXPECT_EQ(role_of(event_record(event)), Role::event);
}

class MarksAndEventsTest : public EmbeddedTest {
 protected:
  ClaimRequest marked(const std::string& key, const std::string& fact, Duration keep = 24h * 365) {
    return marked_request(request(key), fact, keep);
  }
  Record sell(const std::string& key, Duration keep = 24h * 365) {
    const Result<ClaimReply> reply = caller_->claim(marked(key, key, keep));
    if (!reply || !reply->granted) {
      ADD_FAILURE() << key << " was not granted";
      return {};
    }
    EXPECT_TRUE(caller_->complete_with_event(reply->record, std::string(200, 'p') + key));
    return reply->record;
  }
  bool is_free(const std::string& fact) {
    const Result<ClaimReply> reply = caller_->claim(marked("another " + fact, fact));
    EXPECT_TRUE(reply) << reply.error().message;
    return reply && reply->granted;
  }
  Record relay() {
    ClaimRequest wanted =
        request("relay", "owner " + std::to_string(clock_.now().time_since_epoch().count()));
    wanted.take_unknown = true;
    return caller_->claim(wanted)->record;
  }
  std::set<std::uint32_t> formats() {
    std::set<std::uint32_t> found;
    for (const auto& file : std::filesystem::directory_iterator(options_.dir)) {
      if (file.path().extension() != ".log") continue;
      std::ifstream log(file.path(), std::ios::binary);
      std::string bytes(segment_header_bytes, '\0');
      log.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      const std::optional<SegmentHeader> header = decode_segment_header(bytes);
      EXPECT_TRUE(header);
      if (header) found.insert(header->format);
    }
    return found;
  }
  // Fills segments with records that are gone after a minute.
  void fill(int count) {
    for (int i = 0; i < count; ++i)
      must_complete("filler " + std::to_string(filler_++), std::string(500, 'f'), 1min);
  }
  int filler_ = 0;
};

TEST_F(MarksAndEventsTest, segments_without_marks_or_events_stay_readable_for_the_release_before) {
  open();
  fill(300);
  EXPECT_EQ(formats(), std::set<std::uint32_t>{1});
  const Result<ClaimReply> claimed = caller_->claim(marked("a", "a"));
  ASSERT_TRUE(claimed);
  EXPECT_EQ(formats(), (std::set<std::uint32_t>{1, 2}));
  open();
  fill(300);
  clock_.advance(2min);
  caller_->purge_all();
  EXPECT_FALSE(is_free("a"));
}

TEST_F(MarksAndEventsTest, they_live_through_sealing_cleaning_and_restarts) {
  options_.segment_bytes = 32 << 10;
  open();
  for (int i = 0; i < 10; ++i) must_complete("for ever " + std::to_string(i), "x", 24h * 3650);
  std::map<std::string, std::string> waiting;
  std::vector<std::string> sold;
  SettleEventsRequest sent;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 40; ++i) {
      const std::string key = "order " + std::to_string(round) + "." + std::to_string(i);
      const Record mine = sell(key);
      sold.push_back(key);
      if (i % 4 == 0) {
        waiting[event_of(mine, "").id] = std::string(200, 'p') + key;
      } else {
        sent.delivered.push_back(event_of(mine, "").id);
      }
    }
    fill(60);
    const Record relaying = relay();
    sent.relay = fence_of(relaying);
    ASSERT_TRUE(caller_->settle(sent));
    ASSERT_TRUE(caller_->release(relaying));
    clock_.advance(25h);
    caller_->purge_all();
    fill(100);
    caller_->purge_all();
    if (round % 2 == 1) open();
    EXPECT_EQ(caller_->events(), waiting) << "round " << round;
  }
  for (const std::string& key : sold) EXPECT_FALSE(is_free(key)) << key;
  open();
  EXPECT_EQ(caller_->events(), waiting);
  for (const std::string& key : sold) EXPECT_FALSE(is_free(key)) << key;
  clock_.advance(24h * 366);
  for (int i = 0; i < 4; ++i) {
    fill(100);
    clock_.advance(2min);
    caller_->purge_all();
  }
  EXPECT_EQ(caller_->stats().open_records, 0u);
  EXPECT_EQ(caller_->stats().records, 10u) << "neither marks nor events are records";
  EXPECT_EQ(caller_->events(), waiting);
}

TEST_F(MarksAndEventsTest, segments_go_when_nothing_in_them_stands_or_waits) {
  options_.segment_bytes = 32 << 10;
  open();
  SettleEventsRequest sent;
  for (int i = 0; i < 200; ++i)
    sent.delivered.push_back(event_of(sell("order " + std::to_string(i), 48h), "").id);
  const Record relaying = relay();
  sent.relay = fence_of(relaying);
  EXPECT_EQ(*caller_->settle(sent), 200u);
  ASSERT_TRUE(caller_->release(relaying));
  clock_.advance(47h);
  caller_->purge_all();
  EXPECT_FALSE(is_free("order 0"));
  clock_.advance(2h);
  fill(100);
  clock_.advance(2min);
  for (int i = 0; i < 4; ++i) caller_->purge_all();
  EXPECT_TRUE(is_free("order 0"));
  EXPECT_TRUE(caller_->events().empty());
  EXPECT_LE(store_->figures().segments, 3u);
}

TEST_F(MarksAndEventsTest, an_event_that_cannot_be_read_holds_up_nothing_but_its_own_key) {
  options_.durability = Durability::process;  // which reads what it wrote from the file and not from memory
  open();
  const Record damaged = sell("damaged");
  std::string beside = "beside";
  while (outbox_partition_of(request(beside).scope) != outbox_partition_of(damaged.scope)) beside += '.';
  const Record other = sell(beside);
  const std::string payload = std::string(200, 'p') + "damaged";
  for (const auto& file : std::filesystem::directory_iterator(options_.dir)) {
    if (file.path().extension() != ".log") continue;
    std::fstream log(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>()};
    for (std::size_t at = bytes.find(payload); at != std::string::npos; at = bytes.find(payload, at + 1)) {
      log.clear();
      log.seekp(static_cast<std::streamoff>(at));
      log.put('q');
    }
  }
  for (const std::size_t limit : {1u, 100u}) {
    const FetchEventsRequest wanted{outbox_partition_of(damaged.scope), limit};
    testing::BlockingExecutor executor;
    const auto due = executor.call<std::vector<PendingEvent>>(
        [&](auto& reply) { return store_->outbox()->fetch_events(wanted, reply); });
    ASSERT_TRUE(due);
    ASSERT_EQ(due->size(), 1u) << limit;
    EXPECT_EQ(due->front().scope, other.scope) << limit;
  }
  EXPECT_EQ(caller_->events().size(), 2u);
}

TEST_F(MarksAndEventsTest, a_damaged_mark_is_an_error_and_never_free) {
  open();
  sell("a");
  close();
  const Scope scope = marked("a", "a").request->marks[0].scope;
  const std::string wanted(reinterpret_cast<const char*>(scope.data.data()), scope.data.size());
  for (const auto& file : std::filesystem::directory_iterator(options_.dir)) {
    if (file.path().extension() != ".log") continue;
    std::fstream log(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>()};
    for (std::size_t at = bytes.find(wanted); at != std::string::npos; at = bytes.find(wanted, at + 1)) {
      log.clear();
      log.seekp(static_cast<std::streamoff>(at + wanted.size() + 3));
      log.put(static_cast<char>(bytes[at + wanted.size() + 3] ^ 0x10));
    }
  }
  open();
  const Result<ClaimReply> other = caller_->claim(marked("b", "a"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::unreadable);
}

}  // namespace
}  // namespace onceward::embedded
