#include "stores/postgres/record_row.hpp"

#include <limits>

#include "core/transition.hpp"
#include "stores/postgres/leaves.hpp"
#include "stores/postgres/text.hpp"

namespace onceward::postgres {
namespace {

constexpr std::int16_t known_format = 1;

std::string read_text(Row& row) {
  std::optional<std::string> text = from_text(row.bytes());
  if (text) return std::move(*text);
  row.fail();
  return {};
}

std::uint16_t read_u16(Row& row) {
  const std::int32_t value = row.number();
  if (value < 0 || value > std::numeric_limits<std::uint16_t>::max()) row.fail();
  return static_cast<std::uint16_t>(value);
}

State read_state(Row& row) {
  const std::optional<State> state = state_from_string(row.bytes());
  if (!state) row.fail();
  return state.value_or(State::claimed);
}

UnknownCause read_cause(Row& row) {
  const std::string_view text = row.bytes();
  for (int i = 0; i <= static_cast<int>(UnknownCause::shutdown); ++i) {
    const auto cause = static_cast<UnknownCause>(i);
    if (to_string(cause) == text) return cause;
  }
  row.fail();
  return UnknownCause::none;
}

Fingerprint read_fingerprint(Row& row) {
  Fingerprint fingerprint;
  fingerprint.version = read_u16(row);
  if (fingerprint.bound()) {
    row.fixed(fingerprint.digest.data);
  } else {
    row.skip();
  }
  return fingerprint;
}

std::shared_ptr<RequestInfo> read_request(Row& row) {
  auto request = std::make_shared<RequestInfo>();
  request->tenant = read_text(row);
  request->operation = read_text(row);
  request->key_hint = read_text(row);
  request->owner_tag = read_text(row);
  std::optional<std::vector<Leaf>> leaves = decode_leaves(row.bytes());
  if (!leaves) row.fail();
  if (leaves) request->leaves = std::move(*leaves);
  request->probe_target = read_text(row);
  return request;
}

void skip(Row& row, int columns) {
  for (int column = 0; column < columns; ++column) row.skip();
}

void read_mark(Row& row, MarkKind kind, std::vector<Mark>& marks) {
  if (row.next_is_null()) return skip(row, 3);
  Mark mark{.kind = kind};
  row.fixed(mark.scope.data);
  mark.keep = row.duration();
  mark.refuses = row.flag();
  marks.push_back(mark);
}

std::shared_ptr<const OperationResult> read_result(Row& row) {
  if (row.next_is_null()) {
    skip(row, 3);
    return nullptr;
  }
  auto result = std::make_shared<OperationResult>();
  result->resource_type = read_text(row);
  result->resource_id = read_text(row);
  result->failure_code = read_text(row);
  return result;
}

std::shared_ptr<const Response> read_response(Row& row) {
  if (row.next_is_null()) {
    skip(row, 4);
    return nullptr;
  }
  auto response = std::make_shared<Response>();
  response->status = read_u16(row);
  response->headers = row.optional_bytes().value_or("");
  response->body = row.optional_bytes().value_or("");
  response->body_omitted = row.flag();
  return response;
}

Error unreadable(const char* why) { return {Errc::unreadable, std::string("stored record: ") + why}; }

}  // namespace

Result<Record> read_record(Row& row) {
  Record record;
  row.fixed(record.scope.data);
  row.fixed(record.operation_id.data);
  if (row.small() != known_format) return unreadable("written by a newer version, or damaged");
  record.state = read_state(row);
  record.epoch = static_cast<Epoch>(row.big());
  row.fixed(record.owner.data);
  record.fingerprint = read_fingerprint(row);
  const std::shared_ptr<RequestInfo> request = read_request(row);
  record.request = request;
  record.evidence.cause = read_cause(row);
  record.evidence.status_seen = read_u16(row);
  record.evidence.bytes_seen = static_cast<std::uint64_t>(row.big());
  record.evidence.earlier_too = row.flag();
  record.created_at = row.time();
  record.claimed_at = row.time();
  record.updated_at = row.time();
  record.lease_until = row.time();
  record.hold_until = row.time();
  record.expires_at = row.optional_time();
  record.ttl = row.duration();
  record.receipt_ttl = row.duration();
  if (row.next_is_null()) {
    row.skip();
  } else {
    request->reference = read_text(row);
  }
  read_mark(row, MarkKind::unique, request->marks);
  read_mark(row, MarkKind::suspect, request->marks);
  record.result = read_result(row);
  record.response = read_response(row);
  if (!row.ok()) return unreadable("a column has a value that no record has");
  if (!is_consistent(record)) return unreadable("its content contradicts itself");
  return record;
}

}  // namespace onceward::postgres
