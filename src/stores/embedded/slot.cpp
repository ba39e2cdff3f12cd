#include "stores/embedded/slot.hpp"

#include "core/transition.hpp"

namespace onceward::embedded {

bool is_open(State state) {
  return state == State::claimed || state == State::processing || state == State::unknown;
}

Slot slot_of(Role role, const Record& record, std::uint32_t offset, std::uint32_t payload_bytes) {
  Slot slot{offset, payload_bytes, static_cast<std::uint8_t>(record.state), Timestamp::max(),
            Timestamp::max()};
  if (const std::optional<Timestamp> gone = gone_at(record)) {
    slot.gone_at = *gone;
    slot.expires_at = record.state == State::expired ? *gone : record.expires_at;
  }
  if (role == Role::event) slot.state = event_state;
  if (role == Role::mark) slot.state = is_open(record.state) ? held_mark_state : kept_mark_state;
  return slot;
}

}  // namespace onceward::embedded
