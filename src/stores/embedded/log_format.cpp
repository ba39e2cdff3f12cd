#include "stores/embedded/log_format.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "core/crc32c.hpp"
#include "core/record_codec.hpp"
#include "core/scope.hpp"

namespace onceward::embedded {
namespace {

constexpr char segment_magic[9] = "ONCEWLOG";
constexpr std::uint32_t batch_magic = 0x4842574f;  // "OWBH"

std::int64_t count_of(Timestamp time) { return time.time_since_epoch().count(); }
Timestamp time_of(std::uint64_t count) { return Timestamp(Duration(static_cast<std::int64_t>(count))); }

}  // namespace

void put_u32(char* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(value >> (8 * i));
}
void put_u64(char* at, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) at[i] = static_cast<char>(value >> (8 * i));
}
std::uint32_t get_u32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<std::uint8_t>(at[i]);
  return value;
}
std::uint64_t get_u64(const char* at) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = (value << 8) | static_cast<std::uint8_t>(at[i]);
  return value;
}

// 0 magic, 8 format, 12 checksum of all but itself, 16 id, 24 created_at, 32 previous id, 40 previous
// end, 48 flags, 56 zero
std::string encode_segment_header(const SegmentHeader& header) {
  std::string bytes(segment_header_bytes, '\0');
  std::memcpy(bytes.data(), segment_magic, 8);
  put_u32(bytes.data() + 8, header.format);
  put_u64(bytes.data() + 16, header.id);
  put_u64(bytes.data() + 24, static_cast<std::uint64_t>(count_of(header.created_at)));
  put_u64(bytes.data() + 32, header.previous_id);
  put_u64(bytes.data() + 40, header.previous_end);
  put_u64(bytes.data() + 48, header.unsynced ? 1 : 0);
  const std::string_view all = bytes;
  put_u32(bytes.data() + 12, crc32c(all.substr(16), crc32c(all.substr(0, 12))));
  return bytes;
}

std::optional<SegmentHeader> decode_segment_header(std::string_view bytes) {
  if (bytes.size() < segment_header_bytes) return std::nullopt;
  bytes = bytes.substr(0, segment_header_bytes);
  if (std::memcmp(bytes.data(), segment_magic, 8) != 0) return std::nullopt;
  if (get_u32(bytes.data() + 12) != crc32c(bytes.substr(16), crc32c(bytes.substr(0, 12))))
    return std::nullopt;
  SegmentHeader header;
  header.format = get_u32(bytes.data() + 8);
  header.id = get_u64(bytes.data() + 16);
  header.created_at = time_of(get_u64(bytes.data() + 24));
  header.previous_id = get_u64(bytes.data() + 32);
  header.previous_end = get_u64(bytes.data() + 40);
  header.unsynced = (get_u64(bytes.data() + 48) & 1) != 0;
  return header;
}

// 0 magic, 4 checksum of what follows, 8 payload bytes, 12 count, 16 sequence, 24 written_at, 32 records,
// 40 segment (low half), 44 flags
void encode_batch_header(const BatchHeader& header, char* to) {
  put_u32(to, batch_magic);
  put_u32(to + 8, header.payload_bytes);
  put_u32(to + 12, header.count);
  put_u64(to + 16, header.sequence);
  put_u64(to + 24, static_cast<std::uint64_t>(count_of(header.written_at)));
  put_u64(to + 32, header.records);
  put_u32(to + 40, static_cast<std::uint32_t>(header.segment));
  put_u32(to + 44, header.closing ? 1 : 0);
  put_u32(to + 4, crc32c({to + 8, batch_header_bytes - 8}));
}

std::optional<BatchHeader> decode_batch_header(std::string_view bytes, SegmentId segment) {
  if (bytes.size() < batch_header_bytes || get_u32(bytes.data()) != batch_magic) return std::nullopt;
  if (get_u32(bytes.data() + 4) != crc32c(bytes.substr(8, batch_header_bytes - 8))) return std::nullopt;
  if (get_u32(bytes.data() + 40) != static_cast<std::uint32_t>(segment)) return std::nullopt;
  BatchHeader header;
  header.payload_bytes = get_u32(bytes.data() + 8);
  header.count = get_u32(bytes.data() + 12);
  header.sequence = get_u64(bytes.data() + 16);
  header.written_at = time_of(get_u64(bytes.data() + 24));
  header.records = get_u64(bytes.data() + 32);
  header.segment = segment;
  header.closing = (get_u32(bytes.data() + 44) & 1) != 0;
  return header;
}

// 0 checksum of what follows, 4 kind (4 bits) and payload bytes (28 bits), 8 prefix
void encode_entry_header(const EntryHeader& header, char* to) {
  ONCEWARD_ASSERT(header.payload_bytes <= entry_payload_max);
  put_u32(to + 4, (static_cast<std::uint32_t>(header.kind) << 28) | header.payload_bytes);
  put_u64(to + 8, header.prefix);
  put_u32(to, crc32c({to + 4, entry_header_bytes - 4}));
}

std::optional<EntryHeader> decode_entry_header(std::string_view bytes) {
  if (bytes.size() < entry_header_bytes) return std::nullopt;
  if (get_u32(bytes.data()) != crc32c(bytes.substr(4, entry_header_bytes - 4))) return std::nullopt;
  const std::uint32_t word = get_u32(bytes.data() + 4);
  const std::uint32_t kind = word >> 28;
  if (kind < 1 || kind > 3) return std::nullopt;
  return EntryHeader{static_cast<EntryKind>(kind), word & entry_payload_max, get_u64(bytes.data() + 8)};
}

void append_record_entry(const Record& record, std::string& out) {
  const std::size_t start = out.size();
  out.append(entry_header_bytes, '\0');
  encode_record(record, out);
  const auto length = static_cast<std::uint32_t>(out.size() - start - entry_header_bytes);
  encode_entry_header({EntryKind::record, length, scope_prefix(record.scope)}, out.data() + start);
}

void append_removal_entry(const Scope& scope, std::string& out) {
  const std::size_t start = out.size();
  out.append(entry_header_bytes + removal_bytes, '\0');
  char* payload = out.data() + start + entry_header_bytes;
  std::memcpy(payload + 4, scope.data.data(), scope.data.size());
  put_u32(payload, crc32c({payload + 4, removal_bytes - 4}));
  encode_entry_header({EntryKind::removal, removal_bytes, scope_prefix(scope)}, out.data() + start);
}

void append_damage_entry(std::uint64_t prefix, Timestamp gone_at, std::string& out) {
  const std::size_t start = out.size();
  out.append(entry_header_bytes + damage_bytes, '\0');
  char* payload = out.data() + start + entry_header_bytes;
  put_u64(payload + 4, static_cast<std::uint64_t>(count_of(gone_at)));
  put_u32(payload, crc32c({payload + 4, damage_bytes - 4}));
  encode_entry_header({EntryKind::damage, damage_bytes, prefix}, out.data() + start);
}

std::optional<Scope> decode_removal(std::string_view payload) {
  if (payload.size() != removal_bytes || get_u32(payload.data()) != crc32c(payload.substr(4)))
    return std::nullopt;
  Scope scope;
  std::memcpy(scope.data.data(), payload.data() + 4, scope.data.size());
  return scope;
}

std::optional<Timestamp> decode_damage(std::string_view payload) {
  if (payload.size() != damage_bytes || get_u32(payload.data()) != crc32c(payload.substr(4)))
    return std::nullopt;
  return time_of(get_u64(payload.data() + 4));
}

}  // namespace onceward::embedded
