// The heart: a record's whole life as pure functions. `transition(stored, event, now)` says what the
// next record is and what the asker learns; no I/O, no clock. Embedded stores call it inside their
// critical section, SQL and Lua mirror it, and the conformance model is it.
//
//            claim                      dispatch                  complete
//   (none) ─────────▶ claimed ─────────────────────▶ processing ─────────────▶ succeeded / failed
//      │                 │ lease end: claimable          │   │ release              │ ttl
//      │ claim           ▼ (epoch + 1)        lease end, │   ▼                      ▼
//      └────────▶ processing                  unknown()  │ released ──claim──▶   expired ──▶ (none)
//                                                        ▼          epoch + 1       receipt_ttl
//                                                     unknown ──late completion, resolve──▶ final/released
//
// Numbered invariants that live here (the others live in the engine and the proxy):
//   I3  every change is a compare-and-set on (epoch, owner); epochs only grow
//   I4  a lapsed lease never makes a possibly-executed request executable: processing → unknown
//   I7  a refused claim changes nothing
//   I9  what is not final is never purged by age alone
#pragma once

#include <optional>

#include "onceward/store.hpp"
#include "onceward/values.hpp"

namespace onceward {

// The record as it is at `now`: lapsed leases and passed ttls applied. Nothing: it is gone.
std::optional<Record> settle(const Record& stored, Timestamp now);

// What to store (nothing: leave it as it is) and what to reply.
struct ClaimStep {
  std::optional<Record> next;
  ClaimReply reply;
};
struct Step {
  std::optional<Record> next;
  Result<Record> reply;
};

// `stored` is null when there is no record.
ClaimStep transition(const Record* stored, const ClaimRequest& event, Timestamp now);
Step transition(const Record* stored, const Fence& dispatch, Timestamp now);
Step transition(const Record* stored, const RenewRequest& event, Timestamp now);
Step transition(const Record* stored, const CompleteRequest& event, Timestamp now);
Step transition(const Record* stored, const ReleaseRequest& event, Timestamp now);
Step transition(const Record* stored, const UnknownRequest& event, Timestamp now);
Step transition(const Record* stored, const ResolveRequest& event, Timestamp now);

// What a purge does with one record.
enum class PurgeAction { keep, to_receipt, remove };
PurgeAction purge_action(const Record& stored, const PurgeRequest& request, Timestamp now);
// The receipt of a record past its ttl: no response, leaves or probe target; epoch, operation and fingerprint
// stay.
Record receipt_of(const Record& stored);

bool matches(const ListRequest& request, const Record& settled);

// When the record will be gone, or nothing if it never goes by itself (I9).
std::optional<Timestamp> gone_at(const Record& stored);

// Checks what must hold of any stored record; broken means a bug or a corrupt store.
bool is_consistent(const Record& record);

}  // namespace onceward
