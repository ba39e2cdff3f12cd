// Policy: everything that an operation's entry (or `defaults`) says, as plain values, filled in by code or
// from YAML. Immutable once a request has begun: a reload makes new ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "onceward/executor.hpp"
#include "onceward/export.hpp"

namespace onceward {

enum class Mode { enforce, observe, off };
enum class OnUnknown { hold, forward, probe };
enum class OnStoreFailure { closed, open };
enum class InProgressThen { reject, accept };
enum class FingerprintMode { canonical, raw };
enum class KeySource { header, json, content, named_header };
enum class OutcomeClass : std::uint8_t { replay, retry, unknown };

struct KeyPolicy {
  std::string header = "Idempotency-Key";
  bool required = false;
  bool strict = false;
  std::size_t max_length = 255;
  KeySource from = KeySource::header;
  std::string from_argument;  // the JSON pointer, or the header's name
};

struct InProgressPolicy {
  Duration wait = std::chrono::seconds(1);
  Duration max_wait = std::chrono::seconds(30);
  InProgressThen then = InProgressThen::reject;
};

struct FingerprintPolicy {
  FingerprintMode mode = FingerprintMode::canonical;
  std::vector<std::string> ignore;   // JSON pointers
  std::vector<std::string> include;  // JSON pointers; empty: everything
  bool query = true;
  std::vector<std::string> headers;  // names of headers that count
};

// What an upstream's status says about the effect; one entry per status code.
class ONCEWARD_API OutcomeTable {
 public:
  OutcomeTable();  // CONTRACT 4: retry 401 403 407 408 413 421 425 426 429 431 503, unknown 502 504
  OutcomeClass of(int status) const;
  void set(int status, OutcomeClass outcome);
  void set_class(int hundreds, OutcomeClass outcome);  // 5 for 5xx
  bool operator==(const OutcomeTable&) const = default;

 private:
  std::array<OutcomeClass, 600> by_status_{};
};

struct ReplayPolicy {
  bool status_200 = false;
  std::string header = "Idempotent-Replayed";
  bool keep_cookies = false;
};

// How an upstream is asked what became of an operation (on_unknown: probe).
struct ProbePolicy {
  std::string method = "GET";
  std::string target;                // may hold {operation_id}, {key}, {tenant} and {/pointer}
  std::vector<int> applied = {200};  // statuses that say that it happened
  std::vector<int> not_applied = {404};
  std::string response;  // JSON pointer of what to replay within the answer; empty: the answer itself
  int status = 0;        // of the replayed response; 0: the answer's own
  Duration every = std::chrono::seconds(5);
  Duration give_up = std::chrono::hours(24);
};

enum class EventOn { succeeded, failed };

// An event that an outcome is told by, through the outbox.
struct EventRule {
  EventOn on = EventOn::succeeded;
  std::string type;
  bool operator==(const EventRule&) const = default;
};

// A business fact that may come true once per tenant, whatever the key (`unique`).
enum class OnConflict { reject, replay };
struct UniquePolicy {
  std::string name;                 // operations that share it share the fact
  std::vector<std::string> fields;  // JSON pointers; a request without one of them states no fact
  Duration keep = std::chrono::days(365);
  OnConflict on_conflict = OnConflict::reject;
};

// What the same caller is unlikely to mean twice within a moment (`suspect`).
enum class SuspectAction { flag, reject, replay };
struct SuspectPolicy {
  std::vector<std::string> fields;  // JSON pointers; one that leads nowhere is alike wherever it does
  Duration within = std::chrono::seconds(30);
  SuspectAction action = SuspectAction::flag;
};

struct Policy {
  Mode mode = Mode::enforce;
  KeyPolicy key;
  Duration ttl = std::chrono::hours(24);
  Duration receipt_ttl{0};
  Duration lease = std::chrono::seconds(30);
  Duration max_hold = std::chrono::minutes(10);
  InProgressPolicy in_progress;
  int mismatch_status = 422;
  FingerprintPolicy fingerprint;
  OutcomeTable outcomes;
  ReplayPolicy replay;
  OnUnknown on_unknown = OnUnknown::hold;
  std::optional<ProbePolicy> probe;  // present when on_unknown is probe
  OnStoreFailure on_store_failure = OnStoreFailure::closed;
  std::vector<EventRule> events;  // of operations only
  std::optional<UniquePolicy> unique;
  std::optional<SuspectPolicy> suspect;
};

}  // namespace onceward
