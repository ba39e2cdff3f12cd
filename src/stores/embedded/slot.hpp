// Slot: where a record's last entry in a segment is, and what purging needs to know of it.
#pragma once

#include "stores/embedded/internal_record.hpp"
#include "stores/embedded/sealed_index.hpp"

namespace onceward::embedded {

struct Slot {
  std::uint32_t offset = 0;
  std::uint32_t payload_bytes = 0;
  std::uint8_t state = removed_state;
  Timestamp expires_at = Timestamp::max();
  Timestamp gone_at = Timestamp::max();
};

Slot slot_of(Role role, const Record& record, std::uint32_t offset, std::uint32_t payload_bytes);
bool is_open(State state);

}  // namespace onceward::embedded
