#include "core/event_queue.hpp"

#include <charconv>
#include <cstring>

#include "base/sha256.hpp"
#include "core/transition.hpp"

namespace onceward {

EventKey event_key(std::string_view id) {
  const Sha256Bytes digest = sha256(id);
  EventKey key{};
  std::memcpy(key.data(), digest.data(), sizeof(key));
  return key;
}

Result<Done> check_relay(const Record* stored, const Fence& relay, Timestamp now) {
  const std::optional<Record> record = stored ? settle(*stored, now) : std::nullopt;
  const bool current = record && record->operation_id == relay.operation_id && record->epoch == relay.epoch &&
                       record->owner == relay.owner && record->state == State::processing;
  if (!current) return Error{Errc::stale, "the relay does not hold its partition any more"};
  return Done{};
}

std::string event_cursor(const PendingEvent& last) {
  return std::to_string(outbox_partition_of(last.scope)) + "." + std::to_string(last.sequence);
}

Result<EventPosition> parse_event_cursor(std::string_view cursor) {
  EventPosition position;
  if (cursor.empty()) return position;
  const Error malformed{Errc::invalid, "the cursor is not one of this store's"};
  const char* end = cursor.data() + cursor.size();
  const auto partition = std::from_chars(cursor.data(), end, position.partition);
  if (partition.ec != std::errc{} || partition.ptr == end || *partition.ptr != '.') return malformed;
  const auto sequence = std::from_chars(partition.ptr + 1, end, position.after);
  if (sequence.ec != std::errc{} || sequence.ptr != end) return malformed;
  return position;
}

}  // namespace onceward
