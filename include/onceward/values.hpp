// The values of idempotency: who asked (Scope), for what (Fingerprint), and what became of it (Record).
// Plain data without behaviour beyond comparison; safe to copy and to pass between threads.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onceward/executor.hpp"

namespace onceward {

template <class Tag, std::size_t N>
struct Bytes {
  std::array<std::uint8_t, N> data{};
  auto operator<=>(const Bytes&) const = default;
  bool is_zero() const { return data == std::array<std::uint8_t, N>{}; }
};

// Hash of (tenant, caller, operation, key); the primary key of a record in every store.
using Scope = Bytes<struct ScopeTag, 32>;
// UUIDv7 made at the first claim; the same through all epochs. Its last 62 bits are the first 62 bits
// of the scope, so that a store with one index by scope prefix can also find a record by operation.
using OperationId = Bytes<struct OperationIdTag, 16>;
// Random, made anew for every claim: proves that a caller is the one the claim was granted to (I3).
using OwnerNonce = Bytes<struct OwnerTag, 16>;
using Digest = Bytes<struct DigestTag, 32>;
using Epoch = std::uint64_t;

enum class State : std::uint8_t {
  claimed = 1,
  processing = 2,
  succeeded = 3,
  failed = 4,
  released = 5,
  unknown = 6,
  expired = 7,
};

constexpr bool is_final(State state) {
  return state == State::succeeded || state == State::failed || state == State::expired;
}

// Which request a key stands for. Version 0 binds nothing: any request may take the key.
struct Fingerprint {
  std::uint16_t version = 0;
  Digest digest;
  bool operator==(const Fingerprint&) const = default;
  bool bound() const { return version != 0; }
};

// One leaf of a JSON body: its pointer and a keyed digest of its value, so that a mismatch can name
// what changed without anyone having kept the values.
struct Leaf {
  std::string pointer;
  std::uint64_t digest = 0;
  bool operator==(const Leaf&) const = default;
};

enum class MarkKind : std::uint8_t {
  unique = 1,   // a business fact that may come true once
  suspect = 2,  // a likeness: the same caller, the same fields, another key
};

// What a claim takes besides its record, in the same atomic step, so that another key for the same fact or
// the same likeness meets it. A unique mark stands while its holder may have an effect (claimed and alive,
// processing, unknown) and `keep` after success, whatever the record's ttl. A suspect mark stands `keep` from
// its claim on. Either is free once its holder has provably no effect (released, failed, claimed and lapsed).
struct Mark {
  MarkKind kind = MarkKind::unique;
  Scope scope;  // hash of what it stands for; shares no value with any record's scope
  Duration keep{};
  bool refuses = true;  // false: a claim that meets a standing one is granted, told of it, and takes it over
  bool operator==(const Mark&) const = default;
};

// Whose mark stands.
struct MarkHolder {
  MarkKind kind = MarkKind::unique;
  Scope scope;  // of the holder's record, which may be gone
  OperationId operation_id;
  bool operator==(const MarkHolder&) const = default;
};

// What is known of a request besides its fingerprint. Written at the claim, then never changed.
struct RequestInfo {
  std::string tenant;
  std::string operation;
  std::string key_hint;      // first 8 hex digits of the key's hash, or the key where configured
  std::vector<Leaf> leaves;  // sorted by pointer; empty when the body has none or too many
  std::string owner_tag{};   // hash of tenant and caller: who may ask for this operation's state (I8)
  // What a probe asks for when the outcome is unknown (on_unknown: probe), everything filled in but
  // `{operation_id}`, because the key and the body are not kept. Empty: nothing that needs keeping.
  std::string probe_target{};
  std::string
      reference{};  // the caller's business reference (an order number); operations can be found by it
  std::vector<Mark> marks{};  // at most one of each kind
  bool operator==(const RequestInfo&) const = default;
};

// A stored answer. `headers` are whole lines ("Name: value\r\n" each) in their original order, which
// keeps repetition, order and exact values and makes a replay a copy.
struct Response {
  std::uint16_t status = 0;
  bool body_omitted = false;  // too large: status and headers are true, the body was not kept
  std::string headers;
  std::string body;
  bool operator==(const Response&) const = default;
};

// What an operation came to, in business words. Kept with the receipt when the response is gone.
struct OperationResult {
  std::string resource_type;
  std::string resource_id;
  std::string failure_code;
  bool operator==(const OperationResult&) const = default;
};

// Something that happened, told to others through the outbox: written in the same step as the outcome.
struct Event {
  std::string id;  // "<operation_id>:<type>", the same however often it is sent
  std::string type;
  std::string content_type;
  std::string payload;
  bool operator==(const Event&) const = default;
};
using Events = std::vector<Event>;

// What a handler has to tell besides its outcome: an event with data of its own.
struct Emission {
  std::string type;  // 1 to 200 visible ASCII characters
  std::string data;
  std::string content_type = "application/json";
  bool operator==(const Emission&) const = default;
};

enum class UnknownCause : std::uint8_t {
  none = 0,
  timeout = 1,
  reset = 2,
  half_answer = 3,
  upstream_status = 4,
  owner_lost = 5,
  store_failure = 6,
  declared = 7,  // the owner or the upstream said so
  shutdown = 8,
};

// Why an outcome is unknown and what was seen of it.
struct Evidence {
  UnknownCause cause = UnknownCause::none;
  std::uint16_t status_seen = 0;
  std::uint64_t bytes_seen = 0;
  // An earlier epoch's outcome is unknown too (on_unknown: forward): what this epoch learns about itself
  // says nothing about that one.
  bool earlier_too = false;
  bool operator==(const Evidence&) const = default;
};

struct Record {
  Scope scope;
  OperationId operation_id;
  Epoch epoch = 0;
  OwnerNonce owner;
  State state = State::claimed;
  Fingerprint fingerprint;
  Evidence evidence;        // meaningful while unknown
  Timestamp created_at{};   // first claim
  Timestamp claimed_at{};   // claim of this epoch
  Timestamp updated_at{};   // last change of state
  Timestamp lease_until{};  // while claimed or processing
  Timestamp hold_until{};   // renewals never go beyond it
  Timestamp expires_at{};   // final or released: end of ttl
  Duration ttl{};           // what completion will use
  Duration receipt_ttl{};
  std::shared_ptr<const RequestInfo> request;       // shared and immutable, never null in a stored record
  std::shared_ptr<const Response> response;         // shared and immutable; null unless succeeded or failed
  std::shared_ptr<const OperationResult> result{};  // shared and immutable; null unless final and known
};

// Names the claim that a verb acts for. A verb whose fence does not match changes nothing (I3).
struct Fence {
  Scope scope;
  OperationId operation_id;
  Epoch epoch = 0;
  OwnerNonce owner;
};

inline Fence fence_of(const Record& record) {
  return {record.scope, record.operation_id, record.epoch, record.owner};
}

std::string_view to_string(State state);
std::string_view to_string(UnknownCause cause);
std::optional<State> state_from_string(std::string_view text);
std::string to_string(const OperationId& id);  // 8-4-4-4-12
std::optional<OperationId> operation_id_from_string(std::string_view text);

}  // namespace onceward
