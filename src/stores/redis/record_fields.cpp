#include "stores/redis/record_fields.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "base/hex.hpp"
#include "core/scope.hpp"
#include "core/transition.hpp"

namespace onceward::redis {
namespace {

Error unreadable(std::string why) { return {Errc::unreadable, "stored record: " + std::move(why)}; }

std::string tagged(std::string_view prefix, std::uint64_t bits) {
  std::array<std::uint8_t, 8> bytes{};
  for (int i = 0; i < 8; ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  std::string key(prefix);
  key.append("{").append(to_hex(bytes)).append("}");
  return key;
}

template <class Number>
bool read_number(std::string_view text, Number& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool read_time(std::string_view text, Timestamp& out) {
  std::int64_t ms = 0;
  if (!read_number(text, ms) || ms < 0) return false;
  out = Timestamp(Duration(ms));
  return true;
}

bool read_duration(std::string_view text, Duration& out) {
  std::int64_t ms = 0;
  if (!read_number(text, ms) || ms < 0) return false;
  out = Duration(ms);
  return true;
}

bool read_yes(std::string_view text, bool& out) {
  out = text == "yes";
  return out;
}

bool read_yes_or_no(std::string_view text, bool& out) {
  out = text == "yes";
  return out || text == "no";
}

bool read_state(std::string_view text, State& out) {
  const std::optional<State> state = state_from_string(text);
  if (state) out = *state;
  return state.has_value();
}

bool read_cause(std::string_view text, UnknownCause& out) {
  for (std::uint8_t i = 1; i <= static_cast<std::uint8_t>(UnknownCause::shutdown); ++i) {
    if (to_string(static_cast<UnknownCause>(i)) != text) continue;
    out = static_cast<UnknownCause>(i);
    return true;
  }
  return false;
}

bool read_operation_id(std::string_view text, OperationId& out) {
  const std::optional<OperationId> id = operation_id_from_string(text);
  if (id) out = *id;
  return id.has_value();
}

// "<16 hex digits> <bytes of the pointer> <pointer>\n" each: a pointer may contain any character.
bool read_leaves(std::string_view text, std::vector<Leaf>& out) {
  while (!text.empty()) {
    Leaf leaf;
    const std::size_t space = text.find(' ', 17);
    std::size_t bytes = 0;
    if (text.size() < 18 || text[16] != ' ' || space == text.npos) return false;
    if (!read_number(text.substr(0, 16), leaf.digest, 16)) return false;
    if (!read_number(text.substr(17, space - 17), bytes)) return false;
    text.remove_prefix(space + 1);
    if (bytes >= text.size() || text[bytes] != '\n') return false;
    leaf.pointer = text.substr(0, bytes);
    text.remove_prefix(bytes + 1);
    out.push_back(std::move(leaf));
  }
  return true;
}

// What is being put together of the fields, and which of them have come.
struct Parts {
  Record record;
  RequestInfo request;
  Response response;
  bool has_response = false;
  OperationResult result;
  Mark unique{.kind = MarkKind::unique};
  Mark suspect{.kind = MarkKind::suspect};
};

struct Field {
  std::string_view name;
  bool required;
  bool (*read)(std::string_view text, Parts& parts);
};

template <std::size_t N, class Tag>
bool read_bytes(std::string_view text, Bytes<Tag, N>& out) {
  return from_hex(text, out.data);
}

bool put(std::string_view text, std::string& out) {
  out = text;
  return true;
}

constexpr Field fields[] = {
    {"v", true, [](std::string_view t, Parts&) { return t == "1"; }},
    {"scope", true, [](std::string_view t, Parts& p) { return read_bytes(t, p.record.scope); }},
    {"operation_id", true,
     [](std::string_view t, Parts& p) { return read_operation_id(t, p.record.operation_id); }},
    {"epoch", true, [](std::string_view t, Parts& p) { return read_number(t, p.record.epoch); }},
    {"owner", true, [](std::string_view t, Parts& p) { return read_bytes(t, p.record.owner); }},
    {"state", true, [](std::string_view t, Parts& p) { return read_state(t, p.record.state); }},
    {"fingerprint_version", true,
     [](std::string_view t, Parts& p) { return read_number(t, p.record.fingerprint.version); }},
    {"fingerprint", false,
     [](std::string_view t, Parts& p) { return read_bytes(t, p.record.fingerprint.digest); }},
    {"created_at", true, [](std::string_view t, Parts& p) { return read_time(t, p.record.created_at); }},
    {"claimed_at", true, [](std::string_view t, Parts& p) { return read_time(t, p.record.claimed_at); }},
    {"updated_at", true, [](std::string_view t, Parts& p) { return read_time(t, p.record.updated_at); }},
    {"lease_until", true, [](std::string_view t, Parts& p) { return read_time(t, p.record.lease_until); }},
    {"hold_until", true, [](std::string_view t, Parts& p) { return read_time(t, p.record.hold_until); }},
    {"expires_at", true, [](std::string_view t, Parts& p) { return read_time(t, p.record.expires_at); }},
    {"ttl", true, [](std::string_view t, Parts& p) { return read_duration(t, p.record.ttl); }},
    {"receipt_ttl", true,
     [](std::string_view t, Parts& p) { return read_duration(t, p.record.receipt_ttl); }},
    {"tenant", true, [](std::string_view t, Parts& p) { return put(t, p.request.tenant); }},
    {"operation", true, [](std::string_view t, Parts& p) { return put(t, p.request.operation); }},
    {"key_hint", true, [](std::string_view t, Parts& p) { return put(t, p.request.key_hint); }},
    {"owner_tag", true, [](std::string_view t, Parts& p) { return put(t, p.request.owner_tag); }},
    {"leaves", true, [](std::string_view t, Parts& p) { return read_leaves(t, p.request.leaves); }},
    {"probe_target", false, [](std::string_view t, Parts& p) { return put(t, p.request.probe_target); }},
    {"reference", false, [](std::string_view t, Parts& p) { return put(t, p.request.reference); }},
    {"unique_mark", false, [](std::string_view t, Parts& p) { return read_bytes(t, p.unique.scope); }},
    {"unique_keep", false, [](std::string_view t, Parts& p) { return read_duration(t, p.unique.keep); }},
    {"unique_refuses", false,
     [](std::string_view t, Parts& p) { return read_yes_or_no(t, p.unique.refuses); }},
    {"suspect_mark", false, [](std::string_view t, Parts& p) { return read_bytes(t, p.suspect.scope); }},
    {"suspect_keep", false, [](std::string_view t, Parts& p) { return read_duration(t, p.suspect.keep); }},
    {"suspect_refuses", false,
     [](std::string_view t, Parts& p) { return read_yes_or_no(t, p.suspect.refuses); }},
    {"resource_type", false, [](std::string_view t, Parts& p) { return put(t, p.result.resource_type); }},
    {"resource_id", false, [](std::string_view t, Parts& p) { return put(t, p.result.resource_id); }},
    {"failure_code", false, [](std::string_view t, Parts& p) { return put(t, p.result.failure_code); }},
    {"cause", false, [](std::string_view t, Parts& p) { return read_cause(t, p.record.evidence.cause); }},
    {"status_seen", false,
     [](std::string_view t, Parts& p) { return read_number(t, p.record.evidence.status_seen); }},
    {"bytes_seen", false,
     [](std::string_view t, Parts& p) { return read_number(t, p.record.evidence.bytes_seen); }},
    {"earlier_too", false,
     [](std::string_view t, Parts& p) { return read_yes(t, p.record.evidence.earlier_too); }},
    {"status", false,
     [](std::string_view t, Parts& p) { return p.has_response = true, read_number(t, p.response.status); }},
    {"body_omitted", false,
     [](std::string_view t, Parts& p) { return read_yes(t, p.response.body_omitted); }},
    {"headers", false, [](std::string_view t, Parts& p) { return put(t, p.response.headers); }},
    {"body", false, [](std::string_view t, Parts& p) { return put(t, p.response.body); }},
};
constexpr std::size_t field_count = std::size(fields);

constexpr std::size_t index_of(std::string_view name) {
  for (std::size_t i = 0; i < field_count; ++i)
    if (fields[i].name == name) return i;
  return field_count;
}

}  // namespace

std::string key_of(std::string_view prefix, const Scope& scope) {
  return tagged(prefix, scope_prefix(scope));
}
std::string key_of(std::string_view prefix, const OperationId& id) {
  return tagged(prefix, scope_prefix(id));
}

std::string leaves_text(const std::vector<Leaf>& leaves) {
  std::string text;
  for (const Leaf& leaf : leaves) {
    std::array<std::uint8_t, 8> bytes{};
    for (int i = 0; i < 8; ++i)
      bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(leaf.digest >> (56 - 8 * i));
    text.append(to_hex(bytes)).append(" ").append(std::to_string(leaf.pointer.size())).append(" ");
    text.append(leaf.pointer).append("\n");
  }
  return text;
}

namespace {

// Puts a record together of fields that come in any order.
class FieldReader {
 public:
  Result<Done> take(std::string_view name, std::string_view text) {
    const std::size_t index = index_of(name);
    if (index == field_count) return Done{};  // a person's note
    seen_[index] = true;
    if (!fields[index].read(text, parts_)) return unreadable(std::string(name) + " cannot be read");
    return Done{};
  }

  Result<Record> finish(Bodies bodies, const std::shared_ptr<const Response>& response) {
    for (std::size_t i = 0; i < field_count; ++i)
      if (fields[i].required && !seen_[i]) return unreadable(std::string(fields[i].name) + " is missing");
    if (parts_.record.fingerprint.bound() != seen("fingerprint"))
      return unreadable("its fingerprint and the fingerprint's version contradict each other");
    if (seen("unique_mark")) parts_.request.marks.push_back(parts_.unique);
    if (seen("suspect_mark")) parts_.request.marks.push_back(parts_.suspect);
    parts_.record.request = std::make_shared<const RequestInfo>(std::move(parts_.request));
    if (seen("resource_type"))
      parts_.record.result = std::make_shared<const OperationResult>(std::move(parts_.result));
    if (parts_.has_response && response) {
      parts_.record.response = response;
    } else if (parts_.has_response) {
      const bool whole = seen("headers") && seen("body");
      if (bodies == Bodies::included && !whole) return unreadable("half of its response is missing");
      parts_.record.response = std::make_shared<const Response>(std::move(parts_.response));
    }
    if (!is_consistent(parts_.record)) return unreadable("its content contradicts itself");
    return std::move(parts_.record);
  }

 private:
  bool seen(std::string_view name) const { return seen_[index_of(name)]; }

  Parts parts_;
  std::array<bool, field_count> seen_{};
};

Error not_ours() { return unreadable("the reply is not one of our scripts'"); }

// As in complete_held.lua, from its third field on.
constexpr std::string_view completed_fields[] = {
    "operation_id", "epoch",       "owner",       "state",
    "ttl",          "receipt_ttl", "lease_until", "fingerprint_version",
    "created_at",   "claimed_at",  "updated_at",  "hold_until",
    "expires_at",   "tenant",      "operation",   "key_hint",
    "owner_tag",    "leaves",      "fingerprint", "probe_target",
    "reference"};
constexpr std::size_t completed_fields_at = 2;

}  // namespace

Result<Record> read_record(const redisReply& reply, Bodies bodies,
                           const std::shared_ptr<const Response>& response) {
  const auto elements = elements_of(reply);
  if (elements.size() % 2 == 0) return not_ours();
  FieldReader reader;
  for (std::size_t at = 1; at + 1 < elements.size(); at += 2) {
    const Result<Done> taken = reader.take(text_of(*elements[at]), text_of(*elements[at + 1]));
    if (!taken) return taken.error();
  }
  return reader.finish(bodies, response);
}

Result<Timestamp> read_claimed_at(const redisReply& reply) {
  const auto elements = elements_of(reply);
  Timestamp at;
  if (elements.size() != 2 || !read_time(text_of(*elements[1]), at)) return not_ours();
  return at;
}

Result<Completed> read_completed(const redisReply& reply, const Scope& scope) {
  const auto elements = elements_of(reply);
  Timestamp at;
  if (elements.size() != completed_fields_at + std::size(completed_fields) ||
      !read_time(text_of(*elements[1]), at))
    return not_ours();
  FieldReader reader;
  Result<Done> taken = reader.take("v", "1");
  if (taken) taken = reader.take("scope", to_hex(scope.data));
  for (std::size_t i = 0; taken && i < std::size(completed_fields); ++i) {
    const redisReply& value = *elements[completed_fields_at + i];
    if (value.type != REDIS_REPLY_NIL) taken = reader.take(completed_fields[i], text_of(value));
  }
  if (!taken) return taken.error();
  Result<Record> was = reader.finish(Bodies::left_out, nullptr);
  if (!was) return was.error();
  return Completed{at, std::move(*was)};
}

}  // namespace onceward::redis
