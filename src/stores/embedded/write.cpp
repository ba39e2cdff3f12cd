#include "stores/embedded/write.hpp"

namespace onceward::embedded {

void encode_record(const Record& record, Write& write) {
  append_record_entry(record, write.bytes);
  write.slot =
      slot_of(write.role, record, 0, static_cast<std::uint32_t>(write.bytes.size() - entry_header_bytes));
}

void encode(Write& write) {
  if (write.kind == EntryKind::record) {
    encode_record(*write.record, write);
    if (write.role == Role::event || !is_open(write.record->state)) write.record.reset();
    return;
  }
  if (write.kind == EntryKind::removal) append_removal_entry(write.scope, write.bytes);
  write.slot = {0, static_cast<std::uint32_t>(write.bytes.size() - entry_header_bytes), removed_state};
}

}  // namespace onceward::embedded
