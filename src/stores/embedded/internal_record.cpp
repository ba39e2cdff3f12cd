#include "stores/embedded/internal_record.hpp"

#include "base/sha256.hpp"
#include "core/encode.hpp"

namespace onceward::embedded {
namespace {

constexpr std::string_view mark_operation = "onceward.mark";
constexpr std::string_view event_operation = "onceward.event";

std::shared_ptr<const RequestInfo> request_of(std::string_view operation) {
  RequestInfo info;
  info.operation = operation;
  return std::make_shared<const RequestInfo>(std::move(info));
}

// What append_part wrote.
std::optional<std::string> take_part(std::string_view& text) {
  std::uint64_t length = 0;
  for (int shift = 0;; shift += 7) {
    if (text.empty() || shift > 56) return std::nullopt;
    const auto next = static_cast<std::uint8_t>(text.front());
    text.remove_prefix(1);
    length |= static_cast<std::uint64_t>(next & 0x7f) << shift;
    if (!(next & 0x80)) break;
  }
  if (length > text.size()) return std::nullopt;
  std::string part(text.substr(0, static_cast<std::size_t>(length)));
  text.remove_prefix(static_cast<std::size_t>(length));
  return part;
}

}  // namespace

Role role_of(const Record& record) {
  const std::string& operation = record.request->operation;
  if (operation == mark_operation) return Role::mark;
  return operation == event_operation ? Role::event : Role::record;
}

Record mark_record(const MarkEntry& entry) {
  static const std::shared_ptr<const RequestInfo> request = request_of(mark_operation);
  Record record;
  record.scope = entry.scope;
  record.operation_id = entry.holder.operation_id;
  record.epoch = static_cast<Epoch>(entry.holder.kind);
  record.fingerprint = {1, Digest{entry.holder.scope.data}};
  record.state = entry.until ? State::expired : State::unknown;
  record.expires_at = entry.until.value_or(Timestamp{});
  record.request = request;
  return record;
}

MarkEntry mark_entry(const Record& mark) {
  MarkEntry entry;
  entry.scope = mark.scope;
  entry.holder = {static_cast<MarkKind>(mark.epoch), Scope{mark.fingerprint.digest.data}, mark.operation_id};
  if (mark.state == State::expired) entry.until = mark.expires_at;
  return entry;
}

Scope event_scope(std::string_view id) {
  std::string text = "onceward event 1\n";
  text += id;
  return Scope{sha256(text)};
}

Record event_record(const PendingEvent& event) {
  static const std::shared_ptr<const RequestInfo> request = request_of(event_operation);
  Record record;
  record.scope = event_scope(event.event.id);
  record.epoch = event.sequence;
  record.fingerprint = {1, Digest{event.scope.data}};
  record.evidence.bytes_seen = event.attempts;
  record.evidence.status_seen = event.set_aside ? 1 : 0;
  record.created_at = event.created_at;
  record.lease_until = record.hold_until = event.due_at;
  record.state = State::succeeded;
  record.expires_at = Timestamp::max();
  record.request = request;
  auto response = std::make_shared<Response>();
  for (const std::string* part :
       {&event.event.id, &event.event.type, &event.event.content_type, &event.last_error})
    append_part(response->headers, *part);
  response->body = event.event.payload;
  record.response = std::move(response);
  return record;
}

std::optional<PendingEvent> pending_event(const Record& event) {
  if (!event.response) return std::nullopt;
  PendingEvent pending;
  std::string_view parts = event.response->headers;
  for (std::string* part :
       {&pending.event.id, &pending.event.type, &pending.event.content_type, &pending.last_error}) {
    std::optional<std::string> text = take_part(parts);
    if (!text) return std::nullopt;
    *part = std::move(*text);
  }
  pending.event.payload = event.response->body;
  pending.sequence = event.epoch;
  pending.scope = Scope{event.fingerprint.digest.data};
  pending.attempts = static_cast<std::uint32_t>(event.evidence.bytes_seen);
  pending.set_aside = event.evidence.status_seen != 0;
  pending.created_at = event.created_at;
  pending.due_at = event.lease_until;
  return pending;
}

QueuedRef queued_ref(const PendingEvent& event) {
  QueuedRef queued;
  queued.sequence = event.sequence;
  queued.scope = event.scope;
  queued.key = event_key(event.event.id);
  queued.created_at = event.created_at;
  queued.due_at = event.due_at;
  queued.attempts = event.attempts;
  queued.set_aside = event.set_aside;
  if (!event.last_error.empty()) queued.last_error = std::make_unique<const std::string>(event.last_error);
  queued.body = event_scope(event.event.id);
  return queued;
}

}  // namespace onceward::embedded
