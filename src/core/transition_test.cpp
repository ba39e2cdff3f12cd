// The record's life as tables: each state against each event, what comes next, what the asker learns,
// and that everything else stays (CONTRACT 2; I3, I4, I7, I9).
#include "core/transition.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp start{std::chrono::days{20'000}};
constexpr Timestamp now = start + 10s;

OwnerNonce owner(std::uint8_t n) {
  OwnerNonce nonce;
  nonce.data[0] = n;
  return nonce;
}

Fingerprint fingerprint(std::uint8_t n) {
  Fingerprint made{1, {}};
  made.digest.data[0] = n;
  return made;
}

std::shared_ptr<const Response> response(const std::string& body) {
  return std::make_shared<const Response>(Response{200, false, "A: b\r\n", body});
}

// A record of epoch 3 as it would stand in the store at `now`, its lease alive.
Record in(State state) {
  Record record;
  record.scope.data[0] = 1;
  record.operation_id.data[0] = 2;
  record.epoch = 3;
  record.owner = owner(1);
  record.state = state;
  record.fingerprint = fingerprint(1);
  record.created_at = start;
  record.claimed_at = start + 1s;
  record.updated_at = start + 2s;
  record.lease_until = start + 30s;
  record.hold_until = start + 60s;
  record.ttl = 1h;
  record.receipt_ttl = 2h;
  record.request =
      std::make_shared<const RequestInfo>(RequestInfo{"t", "op", "hint", {{"/a", 1}}, "tag", "/by-key/k"});
  if (is_final(state) || state == State::released) record.expires_at = start + 1h;
  if (state == State::succeeded || state == State::failed) record.response = response("stored");
  if (state == State::unknown) record.evidence = {UnknownCause::timeout, 504, 12};
  return record;
}

ClaimRequest claim_by(std::uint8_t who, std::uint8_t body = 1) {
  ClaimRequest request;
  request.scope = in(State::claimed).scope;
  request.operation_id.data[0] = 99;
  request.owner = owner(who);
  request.fingerprint = fingerprint(body);
  request.request = in(State::claimed).request;
  request.lease = 30s;
  request.max_hold = 60s;
  request.ttl = 3h;
  request.receipt_ttl = 4h;
  return request;
}

bool same(const Record& a, const Record& b) {
  return a.scope == b.scope && a.operation_id == b.operation_id && a.epoch == b.epoch && a.owner == b.owner &&
         a.state == b.state && a.fingerprint == b.fingerprint && a.evidence == b.evidence &&
         a.created_at == b.created_at && a.claimed_at == b.claimed_at && a.updated_at == b.updated_at &&
         a.lease_until == b.lease_until && a.hold_until == b.hold_until && a.expires_at == b.expires_at &&
         a.ttl == b.ttl && a.receipt_ttl == b.receipt_ttl && a.request == b.request &&
         a.response == b.response;
}

constexpr State all_states[] = {State::claimed,  State::processing, State::succeeded, State::failed,
                                State::released, State::unknown,    State::expired};

TEST(Transition, a_first_claim_makes_epoch_one_with_everything_it_was_asked_with) {
  const ClaimRequest wanted = claim_by(1);
  const ClaimStep step = transition(nullptr, wanted, now);
  ASSERT_TRUE(step.next && step.reply.granted);
  const Record& made = *step.next;
  EXPECT_EQ(made.epoch, 1u);
  EXPECT_EQ(made.operation_id, wanted.operation_id);
  EXPECT_EQ(made.owner, wanted.owner);
  EXPECT_EQ(made.state, State::processing);
  EXPECT_EQ(made.created_at, now);
  EXPECT_EQ(made.claimed_at, now);
  EXPECT_EQ(made.lease_until, now + 30s);
  EXPECT_EQ(made.hold_until, now + 60s);
  EXPECT_EQ(made.ttl, 3h);
  EXPECT_EQ(made.receipt_ttl, 4h);
  EXPECT_TRUE(same(made, step.reply.record));
}

TEST(Transition, a_lease_never_reaches_beyond_max_hold) {
  ClaimRequest wanted = claim_by(1);
  wanted.lease = 5min;
  EXPECT_EQ(transition(nullptr, wanted, now).next->lease_until, now + 60s);
}

struct ClaimCase {
  const char* what;
  State state;
  Timestamp at = now;
  std::uint8_t who = 2;
  std::uint8_t body = 1;
  bool take_unknown = false;
  bool granted = false;
  Epoch epoch = 3;  // of the record that stands afterwards; 1: a new life
  State becomes;
};

TEST(Transition, a_claim_of_a_record_that_stands) {
  const ClaimCase cases[] = {
      {.what = "running is running", .state = State::processing, .becomes = State::processing},
      {.what = "claimed is claimed", .state = State::claimed, .becomes = State::claimed},
      {.what = "its owner asks again (I10)",
       .state = State::processing,
       .who = 1,
       .granted = true,
       .becomes = State::processing},
      {.what = "its owner asks again (I10)",
       .state = State::claimed,
       .who = 1,
       .granted = true,
       .becomes = State::claimed},
      {.what = "a lapsed reservation was never sent",
       .state = State::claimed,
       .at = start + 30s,
       .granted = true,
       .epoch = 4,
       .becomes = State::processing},
      {.what = "a lapsed reservation is bound",
       .state = State::claimed,
       .at = start + 30s,
       .body = 2,
       .becomes = State::claimed},
      {.what = "a lapsed lease may have run (I4)",
       .state = State::processing,
       .at = start + 30s,
       .becomes = State::unknown},
      {.what = "a lapsed lease, also for its owner (I4)",
       .state = State::processing,
       .at = start + 30s,
       .who = 1,
       .becomes = State::unknown},
      {.what = "the last millisecond of a lease",
       .state = State::processing,
       .at = start + 30s - 1ms,
       .becomes = State::processing},
      {.what = "forward takes a lapsed lease",
       .state = State::processing,
       .at = start + 30s,
       .take_unknown = true,
       .granted = true,
       .epoch = 4,
       .becomes = State::processing},
      {.what = "unknown is held", .state = State::unknown, .becomes = State::unknown},
      {.what = "forward takes unknown",
       .state = State::unknown,
       .take_unknown = true,
       .granted = true,
       .epoch = 4,
       .becomes = State::processing},
      {.what = "forward takes it for the same request only",
       .state = State::unknown,
       .body = 2,
       .take_unknown = true,
       .becomes = State::unknown},
      {.what = "forward does not take what runs",
       .state = State::processing,
       .take_unknown = true,
       .becomes = State::processing},
      {.what = "released runs again",
       .state = State::released,
       .granted = true,
       .epoch = 4,
       .becomes = State::processing},
      {.what = "released is bound to its request",
       .state = State::released,
       .body = 2,
       .becomes = State::released},
      {.what = "a late question of the owner that released it",
       .state = State::released,
       .who = 1,
       .becomes = State::released},
      {.what = "a late question of the owner of an unknown",
       .state = State::unknown,
       .who = 1,
       .take_unknown = true,
       .becomes = State::unknown},
      {.what = "succeeded is replayed", .state = State::succeeded, .becomes = State::succeeded},
      {.what = "failed is replayed", .state = State::failed, .becomes = State::failed},
      {.what = "past its ttl it is a receipt",
       .state = State::succeeded,
       .at = start + 1h,
       .becomes = State::expired},
      {.what = "past its receipt it is gone",
       .state = State::succeeded,
       .at = start + 3h,
       .granted = true,
       .epoch = 1,
       .becomes = State::processing},
      {.what = "gone for any request",
       .state = State::failed,
       .at = start + 3h,
       .body = 2,
       .granted = true,
       .epoch = 1,
       .becomes = State::processing},
      {.what = "a receipt stands", .state = State::expired, .at = start + 2h, .becomes = State::expired},
      {.what = "a released record goes with its ttl",
       .state = State::released,
       .at = start + 1h,
       .body = 2,
       .granted = true,
       .epoch = 1,
       .becomes = State::processing},
  };
  for (const ClaimCase& c : cases) {
    SCOPED_TRACE(c.what);
    const Record stored = in(c.state);
    ClaimRequest wanted = claim_by(c.who, c.body);
    wanted.take_unknown = c.take_unknown;
    const ClaimStep step = transition(&stored, wanted, c.at);
    EXPECT_EQ(step.reply.granted, c.granted);
    EXPECT_EQ(step.reply.record.state, c.becomes);
    EXPECT_EQ(step.reply.record.epoch, c.epoch);
    const bool writes = c.granted && c.epoch != 3;
    EXPECT_EQ(step.next.has_value(), writes);  // I7: a refusal, or a repetition, writes nothing
    if (!writes) continue;
    EXPECT_EQ(step.next->operation_id.data[0], c.epoch == 1 ? 99 : 2);
    EXPECT_EQ(step.next->created_at, c.epoch == 1 ? c.at : start);
    EXPECT_EQ(step.next->owner, wanted.owner);
    const std::optional<Record> before = settle(stored, c.at);
    const bool takes_doubt_over = before && before->state == State::unknown;
    EXPECT_EQ(step.next->evidence, (Evidence{.earlier_too = takes_doubt_over}));
    EXPECT_FALSE(step.next->response);
  }
}

TEST(Transition, an_unbound_key_may_be_taken_by_any_request) {
  Record stored = in(State::released);
  stored.fingerprint = {};
  const ClaimStep step = transition(&stored, claim_by(2, 2), now);
  EXPECT_TRUE(step.reply.granted);
  EXPECT_EQ(step.next->fingerprint, fingerprint(2));
}

// What an owner's verb does in each state: the next state, nothing (unchanged, accepted), or an error.
struct Row {
  State state;
  std::optional<State> becomes;  // written
  std::optional<Errc> error;
};

template <class Event>
void check_owner_verb(const Event& event, std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(to_string(row.state));
    const Record stored = in(row.state);
    const Step step = transition(&stored, event, now);
    EXPECT_EQ(step.next.has_value(), row.becomes.has_value());
    EXPECT_EQ(step.reply.has_value(), !row.error.has_value());
    if (!step.reply) {
      EXPECT_EQ(step.reply.error().code, *row.error);
      continue;
    }
    if (!step.next) {
      EXPECT_TRUE(same(*step.reply, stored));
      continue;
    }
    EXPECT_TRUE(same(*step.reply, *step.next));
    EXPECT_EQ(step.next->state, *row.becomes);
    EXPECT_EQ(step.next->epoch, stored.epoch);
    EXPECT_EQ(step.next->operation_id, stored.operation_id);
    EXPECT_EQ(step.next->created_at, stored.created_at);
    EXPECT_EQ(step.next->claimed_at, stored.claimed_at);
    EXPECT_TRUE(is_consistent(*step.next));
  }
}

Fence mine() { return fence_of(in(State::processing)); }

TEST(Transition, dispatch_in_every_state) {
  check_owner_verb(mine(), {{State::claimed, State::processing, {}},
                            {State::processing, {}, {}},
                            {State::succeeded, {}, Errc::conflict},
                            {State::failed, {}, Errc::conflict},
                            {State::released, {}, Errc::conflict},
                            {State::unknown, {}, Errc::conflict},
                            {State::expired, {}, Errc::conflict}});
}

TEST(Transition, renew_in_every_state) {
  check_owner_verb(RenewRequest{mine(), 30s}, {{State::claimed, State::claimed, {}},
                                               {State::processing, State::processing, {}},
                                               {State::succeeded, {}, Errc::conflict},
                                               {State::failed, {}, Errc::conflict},
                                               {State::released, {}, Errc::conflict},
                                               {State::unknown, {}, Errc::conflict},
                                               {State::expired, {}, Errc::conflict}});
}

TEST(Transition, complete_in_every_state) {
  check_owner_verb(CompleteRequest{mine(), State::succeeded, response("new"), {}},
                   {{State::claimed, State::succeeded, {}},
                    {State::processing, State::succeeded, {}},
                    {State::succeeded, {}, Errc::conflict},
                    {State::failed, {}, Errc::conflict},
                    {State::released, {}, Errc::conflict},
                    {State::unknown, State::succeeded, {}},
                    {State::expired, {}, Errc::conflict}});
}

TEST(Transition, complete_with_the_stored_outcome_is_a_repetition) {
  check_owner_verb(CompleteRequest{mine(), State::succeeded, response("stored"), {}},
                   {{State::succeeded, {}, {}}, {State::failed, {}, Errc::conflict}});
}

TEST(Transition, release_in_every_state) {
  check_owner_verb(ReleaseRequest{mine(), false}, {{State::claimed, State::released, {}},
                                                   {State::processing, State::released, {}},
                                                   {State::succeeded, {}, Errc::conflict},
                                                   {State::failed, {}, Errc::conflict},
                                                   {State::released, {}, {}},
                                                   {State::unknown, State::released, {}},
                                                   {State::expired, {}, Errc::conflict}});
}

TEST(Transition, unknown_in_every_state) {
  check_owner_verb(UnknownRequest{mine(), {UnknownCause::reset, 0, 5}},
                   {{State::claimed, State::unknown, {}},
                    {State::processing, State::unknown, {}},
                    {State::succeeded, {}, Errc::conflict},
                    {State::failed, {}, Errc::conflict},
                    {State::released, {}, Errc::conflict},
                    {State::unknown, {}, {}},
                    {State::expired, {}, Errc::conflict}});
}

TEST(Transition, resolve_in_every_state) {
  const Record r = in(State::unknown);
  for (State as : {State::succeeded, State::failed, State::released}) {
    check_owner_verb(ResolveRequest{r.scope, r.operation_id, r.epoch, as, response("operator")},
                     {{State::claimed, as, {}},
                      {State::processing, as, {}},
                      {State::succeeded, {}, Errc::conflict},
                      {State::failed, {}, Errc::conflict},
                      {State::released, {}, Errc::conflict},
                      {State::unknown, as, {}},
                      {State::expired, {}, Errc::conflict}});
  }
}

TEST(Transition, a_fence_that_is_not_the_current_one_changes_nothing_in_any_state) {  // I3
  Fence other_epoch = mine();
  other_epoch.epoch -= 1;
  Fence other_owner = mine();
  other_owner.owner = owner(9);
  Fence other_life = mine();
  other_life.operation_id.data[0] = 77;
  for (State state : all_states) {
    const Record stored = in(state);
    for (const Fence& fence : {other_epoch, other_owner, other_life}) {
      const Step steps[] = {
          transition(&stored, fence, now), transition(&stored, RenewRequest{fence, 30s}, now),
          transition(&stored, CompleteRequest{fence, State::failed, response("x"), {}}, now),
          transition(&stored, ReleaseRequest{fence, true}, now),
          transition(&stored, UnknownRequest{fence, {}}, now)};
      for (const Step& step : steps) {
        EXPECT_FALSE(step.next);
        ASSERT_FALSE(step.reply);
        EXPECT_EQ(step.reply.error().code, Errc::stale);
      }
    }
  }
}

TEST(Transition, verbs_on_nothing_find_nothing) {
  const Record r = in(State::processing);
  EXPECT_EQ(transition(nullptr, mine(), now).reply.error().code, Errc::not_found);
  EXPECT_EQ(transition(nullptr, RenewRequest{mine(), 1s}, now).reply.error().code, Errc::not_found);
  EXPECT_EQ(transition(nullptr, ReleaseRequest{mine(), false}, now).reply.error().code, Errc::not_found);
  const ResolveRequest resolve{r.scope, r.operation_id, r.epoch, State::released, nullptr};
  EXPECT_EQ(transition(nullptr, resolve, now).reply.error().code, Errc::not_found);
}

TEST(Transition, resolve_is_by_operation_and_epoch) {
  const Record stored = in(State::unknown);
  ResolveRequest wrong{stored.scope, stored.operation_id, stored.epoch + 1, State::released, nullptr};
  EXPECT_EQ(transition(&stored, wrong, now).reply.error().code, Errc::stale);
  wrong.epoch = stored.epoch;
  wrong.operation_id.data[0] = 77;
  EXPECT_EQ(transition(&stored, wrong, now).reply.error().code, Errc::not_found);
}

TEST(Transition, resolve_fences_the_owner_out_and_a_release_carries_no_response) {  // I3
  const Record stored = in(State::processing);
  const Step step = transition(
      &stored, ResolveRequest{stored.scope, stored.operation_id, 3, State::released, response("x")}, now);
  ASSERT_TRUE(step.next);
  EXPECT_TRUE(step.next->owner.is_zero());
  EXPECT_FALSE(step.next->response);
  EXPECT_EQ(transition(&*step.next, ReleaseRequest{mine(), false}, now).reply.error().code, Errc::stale);
}

TEST(Transition, a_lapsed_lease_still_takes_its_owners_outcome_but_no_renewal) {  // I4
  const Record stored = in(State::processing);
  const Timestamp lapsed = start + 31s;
  EXPECT_EQ(
      transition(&stored, CompleteRequest{mine(), State::failed, response("x"), {}}, lapsed).next->state,
      State::failed);
  EXPECT_EQ(transition(&stored, RenewRequest{mine(), 30s}, lapsed).reply.error().code, Errc::conflict);
  const Step marked = transition(&stored, UnknownRequest{mine(), {UnknownCause::reset, 0, 5}}, lapsed);
  EXPECT_EQ(marked.next->evidence.cause, UnknownCause::reset);  // the owner knows the cause better
}

TEST(Transition, a_lapsed_reservation_is_neither_dispatched_nor_renewed) {
  const Record stored = in(State::claimed);
  EXPECT_EQ(transition(&stored, mine(), start + 30s).reply.error().code, Errc::stale);
  EXPECT_EQ(transition(&stored, RenewRequest{mine(), 30s}, start + 30s).reply.error().code, Errc::stale);
}

TEST(Transition, a_renewal_never_shortens_a_lease_nor_passes_max_hold) {
  const Record stored = in(State::processing);
  EXPECT_FALSE(transition(&stored, RenewRequest{mine(), 1s}, now).next);
  EXPECT_EQ(transition(&stored, RenewRequest{mine(), 30s}, now).next->lease_until, now + 30s);
  EXPECT_EQ(transition(&stored, RenewRequest{mine(), 10min}, now).next->lease_until, stored.hold_until);
  EXPECT_EQ(transition(&stored, RenewRequest{mine(), 30s}, now).next->updated_at, stored.updated_at);
}

TEST(Transition, completion_counts_its_ttl_from_now_and_an_answer_may_overrule_it) {
  const Record stored = in(State::processing);
  EXPECT_EQ(
      transition(&stored, CompleteRequest{mine(), State::succeeded, response("x"), {}}, now).next->expires_at,
      now + 1h);
  EXPECT_EQ(
      transition(&stored, CompleteRequest{mine(), State::succeeded, response("x"), 5s}, now).next->expires_at,
      now + 5s);
}

TEST(Transition, settle_applies_leases_and_ttls) {
  struct Case {
    State state;
    Timestamp at;
    std::optional<State> becomes;
  };
  for (const Case& c :
       {Case{State::processing, start + 30s - 1ms, State::processing},
        Case{State::processing, start + 30s, State::unknown},
        Case{State::claimed, start + 24h, State::claimed},
        Case{State::unknown, start + 24h * 365, State::unknown},  // I9
        Case{State::succeeded, start + 1h - 1ms, State::succeeded},
        Case{State::succeeded, start + 1h, State::expired},
        Case{State::failed, start + 3h - 1ms, State::expired}, Case{State::failed, start + 3h, std::nullopt},
        Case{State::released, start + 1h - 1ms, State::released},
        Case{State::released, start + 1h, std::nullopt}}) {
    SCOPED_TRACE(to_string(c.state));
    const std::optional<Record> settled = settle(in(c.state), c.at);
    EXPECT_EQ(settled ? std::optional(settled->state) : std::nullopt, c.becomes);
  }
  const Record lapsed = *settle(in(State::processing), start + 45s);
  EXPECT_EQ(lapsed.evidence.cause, UnknownCause::owner_lost);
  EXPECT_EQ(lapsed.updated_at, start + 30s);
}

TEST(Transition, a_receipt_keeps_who_and_what_but_no_content) {
  Record stored = in(State::succeeded);
  RequestInfo request = *stored.request;
  request.reference = "A-17";
  request.marks = {Mark{}};
  stored.request = std::make_shared<const RequestInfo>(request);
  stored.result = std::make_shared<const OperationResult>(OperationResult{"order", "7", ""});
  const Record receipt = receipt_of(stored);
  EXPECT_EQ(receipt.request->reference, "A-17");
  EXPECT_TRUE(receipt.request->marks.empty());
  ASSERT_TRUE(receipt.result);
  EXPECT_EQ(receipt.result->resource_id, "7");
  EXPECT_EQ(receipt.state, State::expired);
  EXPECT_FALSE(receipt.response);
  EXPECT_TRUE(receipt.request->leaves.empty());
  EXPECT_TRUE(receipt.request->probe_target.empty());
  EXPECT_EQ(receipt.request->operation, "op");
  EXPECT_EQ(receipt.epoch, 3u);
  EXPECT_EQ(receipt.fingerprint, fingerprint(1));
}

TEST(Transition, purge_takes_what_is_past_its_time_and_never_what_is_open) {  // I9
  struct Case {
    State state;
    Timestamp at;
    bool final_too;
    PurgeAction action;
  };
  const Timestamp late = start + 24h * 365;
  for (const Case& c : {Case{State::claimed, late, true, PurgeAction::keep},
                        Case{State::processing, late, true, PurgeAction::keep},
                        Case{State::unknown, late, true, PurgeAction::keep},
                        Case{State::succeeded, now, false, PurgeAction::keep},
                        Case{State::succeeded, now, true, PurgeAction::remove},
                        Case{State::succeeded, start + 2h, false, PurgeAction::to_receipt},
                        Case{State::expired, start + 2h, false, PurgeAction::keep},
                        Case{State::expired, start + 2h, true, PurgeAction::remove},
                        Case{State::failed, late, false, PurgeAction::remove},
                        Case{State::released, now, true, PurgeAction::keep},
                        Case{State::released, late, false, PurgeAction::remove}}) {
    SCOPED_TRACE(to_string(c.state));
    PurgeRequest request;
    request.final_too = c.final_too;
    EXPECT_EQ(purge_action(in(c.state), request, c.at), c.action);
  }
}

TEST(Transition, an_operators_purge_takes_only_what_it_names) {
  const Record stored = in(State::succeeded);
  const auto action = [&](auto fill) {
    PurgeRequest request;
    request.final_too = true;
    fill(request);
    return purge_action(stored, request, now);
  };
  EXPECT_EQ(action([](auto& r) { r.tenant = "t"; }), PurgeAction::remove);
  EXPECT_EQ(action([](auto& r) { r.tenant = "u"; }), PurgeAction::keep);
  EXPECT_EQ(action([](auto& r) { r.operation = "other"; }), PurgeAction::keep);
  EXPECT_EQ(action([](auto& r) { r.updated_before = start + 2s; }), PurgeAction::keep);
  EXPECT_EQ(action([](auto& r) { r.updated_before = start + 3s; }), PurgeAction::remove);
}

TEST(Transition, gone_at_is_never_for_what_is_open) {  // I9
  for (State state : {State::claimed, State::processing, State::unknown})
    EXPECT_FALSE(gone_at(in(state))) << to_string(state);
  EXPECT_EQ(gone_at(in(State::succeeded)), start + 3h);
  EXPECT_EQ(gone_at(in(State::released)), start + 1h);
}

TEST(Transition, an_inconsistent_record_is_known_as_one) {
  EXPECT_TRUE(is_consistent(in(State::succeeded)));
  Record no_epoch = in(State::processing);
  no_epoch.epoch = 0;
  Record no_request = in(State::processing);
  no_request.request = nullptr;
  Record long_lease = in(State::processing);
  long_lease.lease_until = long_lease.hold_until + 1ms;
  Record early_answer = in(State::processing);
  early_answer.response = response("x");
  for (const Record& broken : {no_epoch, no_request, long_lease, early_answer})
    EXPECT_FALSE(is_consistent(broken));
}

}  // namespace
}  // namespace onceward
