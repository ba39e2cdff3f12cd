#include "core/marks.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

const Timestamp now{std::chrono::days{20'000}};
constexpr Duration keep = 24h;

template <class B>
B bytes(std::uint8_t n) {
  B made;
  made.data[0] = n;
  return made;
}

Mark mark_of(MarkKind kind, bool refuses = true) { return {kind, bytes<Scope>(200), keep, refuses}; }

Record record(State state, std::uint8_t who = 1, std::uint8_t operation = 1) {
  Record made;
  made.scope = bytes<Scope>(who);
  made.operation_id = bytes<OperationId>(operation);
  made.epoch = 1;
  made.state = state;
  made.lease_until = made.hold_until = now + 30s;
  made.expires_at = now + 1h;
  made.ttl = 1h;
  made.request = std::make_shared<const RequestInfo>(
      RequestInfo{.tenant = "t",
                  .operation = "op",
                  .key_hint = "",
                  .leaves = {},
                  .marks = {mark_of(MarkKind::unique), mark_of(MarkKind::suspect)}});
  return made;
}

MarkEntry entry_of(MarkKind kind, std::optional<Timestamp> until, std::uint8_t who = 1,
                   std::uint8_t operation = 1) {
  return {bytes<Scope>(200), {kind, bytes<Scope>(who), bytes<OperationId>(operation)}, until};
}

TEST(Marks, what_stands_in_the_way_by_what_became_of_its_holder) {
  Record lapsed = record(State::claimed);
  lapsed.lease_until = now;
  Record lapsed_after_unknown = lapsed;
  lapsed_after_unknown.evidence.earlier_too = true;
  Record lost = record(State::processing);
  lost.lease_until = now;
  Record receipt = record(State::succeeded);
  receipt.expires_at = now;
  receipt.receipt_ttl = 1h;
  const Record another = record(State::processing, 1, 2);
  const struct {
    const char* why;
    std::optional<Record> holder;
    bool held;          // unique, without an end
    bool kept;          // unique or suspect, with an end to come
    bool over = false;  // with an end that has passed
  } table[] = {
      {"claimed and alive", record(State::claimed), true, true},
      {"claimed and lapsed: provably nothing sent", lapsed, false, false},
      {"lapsed, but an epoch before it may have happened", lapsed_after_unknown, true, true},
      {"processing", record(State::processing), true, true},
      {"its lease ended: it may have happened (I4)", lost, true, true},
      {"unknown", record(State::unknown), true, true},
      {"succeeded: for as long as it was kept", record(State::succeeded), false, true},
      {"failed", record(State::failed), false, false},
      {"released", record(State::released), false, false},
      {"a receipt", receipt, false, true},
      {"gone", std::nullopt, false, true},
      {"the key runs under another operation", another, false, true},
  };
  for (const auto& row : table) {
    const Record* holder = row.holder ? &*row.holder : nullptr;
    EXPECT_EQ(stands(entry_of(MarkKind::unique, std::nullopt), holder, now), row.held) << row.why;
    for (const MarkKind kind : {MarkKind::unique, MarkKind::suspect}) {
      EXPECT_EQ(stands(entry_of(kind, now + 1ms), holder, now), row.kept) << row.why;
      EXPECT_EQ(stands(entry_of(kind, now), holder, now), row.over) << row.why;
    }
  }
}

ClaimStep granted() {
  const Record mine = record(State::processing, 7, 7);
  return {mine, {true, mine}};
}

TEST(Marks, a_claim_that_meets_nothing_takes_its_marks) {
  const Mark unique = mark_of(MarkKind::unique);
  const Mark suspect = mark_of(MarkKind::suspect);
  const MarkSeen seen[] = {{&suspect, nullptr, nullptr}, {&unique, nullptr, nullptr}};
  const MarkedClaim claim = take_marks(granted(), seen, now);
  ASSERT_TRUE(claim.step.next);
  EXPECT_FALSE(claim.step.reply.standing);
  ASSERT_EQ(claim.taken.size(), 2u);
  EXPECT_EQ(claim.taken[0], entry_of(MarkKind::unique, std::nullopt, 7, 7));
  EXPECT_EQ(claim.taken[1], entry_of(MarkKind::suspect, now + keep, 7, 7));
}

TEST(Marks, a_claim_that_meets_a_standing_mark) {
  const Record other = record(State::processing);
  const MarkEntry others = entry_of(MarkKind::unique, std::nullopt);
  const MarkEntry mine = entry_of(MarkKind::unique, now + 1h, 7, 7);
  const struct {
    const char* why;
    const MarkEntry* entry;
    bool refuses;
    bool granted;
    bool told;
  } table[] = {
      {"another's refuses", &others, true, false, true},
      {"another's that does not refuse is taken over", &others, false, true, true},
      {"its own is no obstacle", &mine, true, true, false},
  };
  for (const auto& row : table) {
    const Mark mark = mark_of(MarkKind::unique, row.refuses);
    const MarkSeen seen[] = {{&mark, row.entry, &other}};
    const MarkedClaim claim = take_marks(granted(), seen, now);
    EXPECT_EQ(claim.step.next.has_value(), row.granted) << row.why;
    EXPECT_EQ(claim.step.reply.granted, row.granted) << row.why;
    EXPECT_EQ(claim.step.reply.standing.has_value(), row.told) << row.why;
    EXPECT_EQ(claim.taken.size(), row.granted ? 1u : 0u) << row.why;
    if (!row.granted) EXPECT_EQ(claim.step.reply.record.epoch, 0u) << row.why;
    if (row.told) EXPECT_EQ(*claim.step.reply.standing, others.holder) << row.why;
  }
}

TEST(Marks, unique_is_looked_at_before_suspect) {
  const Record other = record(State::processing);
  const MarkEntry unique_entry = entry_of(MarkKind::unique, std::nullopt);
  const MarkEntry suspect_entry = entry_of(MarkKind::suspect, now + 1s);
  const Mark unique = mark_of(MarkKind::unique);
  const Mark suspect = mark_of(MarkKind::suspect);
  const MarkSeen seen[] = {{&suspect, &suspect_entry, &other}, {&unique, &unique_entry, &other}};
  EXPECT_EQ(take_marks(granted(), seen, now).step.reply.standing->kind, MarkKind::unique);
}

TEST(Marks, a_claim_that_writes_nothing_looks_at_no_mark) {
  const Record other = record(State::processing);
  const MarkEntry others = entry_of(MarkKind::unique, std::nullopt);
  const Mark mark = mark_of(MarkKind::unique);
  const MarkSeen seen[] = {{&mark, &others, &other}};
  const Record mine = record(State::processing, 7, 7);
  const MarkedClaim claim = take_marks({std::nullopt, {true, mine}}, seen, now);
  EXPECT_TRUE(claim.step.reply.granted) << "asked again by its owner (I10)";
  EXPECT_TRUE(claim.taken.empty());
}

TEST(Marks, what_an_outcome_does_to_the_entry) {
  const MarkEntry mine = entry_of(MarkKind::unique, std::nullopt);
  const MarkEntry others = entry_of(MarkKind::unique, std::nullopt, 9, 9);
  const struct {
    const char* why;
    State next;
    MarkKind kind;
    const MarkEntry* entry;
    MarkChange change;
  } table[] = {
      {"a success keeps the fact", State::succeeded, MarkKind::unique, &mine, MarkChange::write},
      {"also when the entry was purged", State::succeeded, MarkKind::unique, nullptr, MarkChange::write},
      {"another's is left alone", State::succeeded, MarkKind::unique, &others, MarkChange::none},
      {"a likeness has its end already", State::succeeded, MarkKind::suspect, &mine, MarkChange::none},
      {"a failure frees it", State::failed, MarkKind::unique, &mine, MarkChange::drop},
      {"a release frees it", State::released, MarkKind::unique, &mine, MarkChange::drop},
      {"and a likeness too", State::released, MarkKind::suspect, &mine, MarkChange::drop},
      {"but not another's", State::released, MarkKind::unique, &others, MarkChange::none},
  };
  for (const auto& row : table) {
    const MarkStep step = end_mark(mark_of(row.kind), row.entry, record(row.next), now);
    EXPECT_EQ(step.change, row.change) << row.why;
    if (step.change == MarkChange::write)
      EXPECT_EQ(step.entry, entry_of(MarkKind::unique, now + keep)) << row.why;
  }
}

TEST(Marks, a_record_from_another_store_brings_its_marks) {
  Record copy = record(State::succeeded);
  copy.claimed_at = now - 2h;
  copy.updated_at = now - 1h;
  const MarkEntry others = entry_of(MarkKind::unique, std::nullopt, 9, 9);
  const MarkEntry mine = entry_of(MarkKind::unique, std::nullopt);
  const struct {
    const char* why;
    State state;
    MarkKind kind;
    const MarkEntry* entry;
    MarkChange change;
    std::optional<Timestamp> until;
  } table[] = {
      {"kept since its success", State::succeeded, MarkKind::unique, nullptr, MarkChange::write,
       now - 1h + keep},
      {"held while it is open", State::unknown, MarkKind::unique, &mine, MarkChange::write, std::nullopt},
      {"a likeness since its claim", State::unknown, MarkKind::suspect, nullptr, MarkChange::write,
       now - 2h + keep},
      {"without an effect it has none", State::released, MarkKind::unique, nullptr, MarkChange::none, {}},
      {"and gives it back", State::failed, MarkKind::unique, &mine, MarkChange::drop, {}},
      {"another's is left alone", State::succeeded, MarkKind::unique, &others, MarkChange::none, {}},
  };
  for (const auto& row : table) {
    copy.state = row.state;
    const MarkStep step = adopt_mark(mark_of(row.kind), row.entry, copy);
    EXPECT_EQ(step.change, row.change) << row.why;
    if (step.change == MarkChange::write) EXPECT_EQ(step.entry, entry_of(row.kind, row.until)) << row.why;
  }
}

TEST(Marks, only_an_outcome_of_a_record_with_marks_touches_entries) {
  for (const State state : {State::claimed, State::processing, State::unknown, State::expired})
    EXPECT_FALSE(ends_marks(record(state))) << to_string(state);
  for (const State state : {State::succeeded, State::failed, State::released}) {
    EXPECT_TRUE(ends_marks(record(state))) << to_string(state);
    Record plain = record(state);
    plain.request = std::make_shared<const RequestInfo>();
    EXPECT_FALSE(ends_marks(plain)) << to_string(state);
  }
}

TEST(Marks, claimed_again_without_a_mark_that_it_had) {
  const Record before = record(State::claimed);
  Record next = record(State::processing);
  next.epoch = 2;
  EXPECT_TRUE(left_marks(&before, next).empty()) << "the same marks";
  EXPECT_TRUE(left_marks(nullptr, next).empty());
  next.request = std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "", {}});
  EXPECT_EQ(left_marks(&before, next), before.request->marks);
  EXPECT_TRUE(left_marks(&before, record(State::processing, 1, 2)).empty()) << "another operation";

  const Mark unique = mark_of(MarkKind::unique);
  const MarkEntry held = entry_of(MarkKind::unique, std::nullopt);
  const MarkEntry anothers = entry_of(MarkKind::unique, std::nullopt, 2, 2);
  EXPECT_EQ(leave_mark(unique, nullptr, next, now).change, MarkChange::none);
  EXPECT_EQ(leave_mark(unique, &anothers, next, now).change, MarkChange::none);
  EXPECT_EQ(leave_mark(unique, &held, next, now).change, MarkChange::drop);
  next.evidence.earlier_too = true;  // it may have happened
  const MarkStep kept = leave_mark(unique, &held, next, now);
  EXPECT_EQ(kept.change, MarkChange::write);
  EXPECT_EQ(kept.entry, entry_of(MarkKind::unique, now + keep));
  const MarkEntry likeness = entry_of(MarkKind::suspect, now + 1s);
  EXPECT_EQ(leave_mark(mark_of(MarkKind::suspect), &likeness, next, now).change, MarkChange::none);
}

}  // namespace
}  // namespace onceward
