// The bytes of a segment: a header, then batches of entries, then zeros. Pure; docs/embedded-store.md
// has the picture. Everything says twice whose it is (an entry's header and its payload each carry a
// length, a checksum and the scope), so that one damaged spot never hides which record it hit (I5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward::embedded {

using SegmentId = std::uint64_t;

// A segment is of format 1 until a mark or an event is written into it, then of format 2: a release that
// knows neither refuses it, and a folder without them stays readable for that release.
constexpr std::uint32_t plain_format = 1;
constexpr std::uint32_t format_version = 2;
constexpr std::size_t segment_header_bytes = 64;
constexpr std::size_t batch_header_bytes = 48;
constexpr std::size_t entry_header_bytes = 16;
constexpr std::size_t batch_alignment = 8;
constexpr std::uint32_t entry_payload_max = (1u << 28) - 1;

struct SegmentHeader {
  std::uint32_t format = plain_format;
  SegmentId id = 0;
  Timestamp created_at{};
  bool unsynced = false;  // durability: process. A power cut may then have left holes.
  // What precedes this segment, and how much of it counts: bytes behind that end belong to a write
  // whose sync failed and which nobody was told about.
  SegmentId previous_id = 0;
  std::uint64_t previous_end = 0;
};

struct BatchHeader {
  std::uint32_t payload_bytes = 0;
  std::uint32_t count = 0;
  std::uint64_t sequence = 0;
  Timestamp written_at{};
  std::uint64_t records = 0;  // how many the store held after this batch
  SegmentId segment = 0;
  bool closing = false;  // the last batch of an orderly shutdown
};

enum class EntryKind : std::uint8_t {
  record = 1,
  removal = 2,  // the record is gone: an operator's purge, or its time was over
  damage = 3,   // stands for a record that could not be read when its segment was given up
};

struct EntryHeader {
  EntryKind kind = EntryKind::record;
  std::uint32_t payload_bytes = 0;
  std::uint64_t prefix = 0;  // scope_prefix
};

void put_u32(char* at, std::uint32_t value);
void put_u64(char* at, std::uint64_t value);
std::uint32_t get_u32(const char* at);
std::uint64_t get_u64(const char* at);

std::string encode_segment_header(const SegmentHeader& header);
// Nothing when it is damaged. A newer format is read as far as `format`, for the caller to refuse.
std::optional<SegmentHeader> decode_segment_header(std::string_view bytes);

void encode_batch_header(const BatchHeader& header, char* to);
std::optional<BatchHeader> decode_batch_header(std::string_view bytes, SegmentId segment);

void encode_entry_header(const EntryHeader& header, char* to);
std::optional<EntryHeader> decode_entry_header(std::string_view bytes);

// An entry is its header and its payload.
void append_record_entry(const Record& record, std::string& out);
void append_removal_entry(const Scope& scope, std::string& out);
void append_damage_entry(std::uint64_t prefix, Timestamp gone_at, std::string& out);
std::optional<Scope> decode_removal(std::string_view payload);
std::optional<Timestamp> decode_damage(std::string_view payload);
constexpr std::size_t removal_bytes = 36;
constexpr std::size_t damage_bytes = 12;

constexpr std::uint64_t aligned(std::uint64_t offset) {
  return (offset + batch_alignment - 1) / batch_alignment * batch_alignment;
}

}  // namespace onceward::embedded
