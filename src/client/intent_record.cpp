#include "client/intent_record.hpp"

#include <algorithm>

#include "core/crc32c.hpp"
#include "core/encode.hpp"

namespace onceward::client {
namespace {

constexpr std::string_view magic = "OWI1";
constexpr std::size_t head_bytes = 16;  // magic, length, checksum of the payload, checksum of these three

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}

std::uint32_t read_u32(std::string_view text) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(text[i]);
  return value;
}

// Takes parts off the front; after the first that is not there, all are empty and ok is false.
struct Parts {
  std::string_view rest;
  bool ok = true;

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest.front());
      rest.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ok = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t bytes = number();
    if (!ok || bytes > rest.size()) {
      ok = false;
      return {};
    }
    std::string part(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
    return part;
  }
};

void append_end(std::string& out, const Outcome& end) {
  append_varint(out, static_cast<std::uint64_t>(end.ending));
  append_varint(out, static_cast<std::uint64_t>(end.answer.status));
  append_varint(out, end.answer.headers.size());
  for (const auto& [name, value] : end.answer.headers) {
    append_part(out, name);
    append_part(out, value);
  }
  append_part(out, end.answer.body);
  append_varint(out, end.answer.body_cut ? 1 : 0);
  append_part(out, end.reason);
  append_part(out, end.operation_id);
}

Outcome read_end(Parts& parts) {
  Outcome end;
  end.ending = static_cast<Ending>(std::min<std::uint64_t>(parts.number(), 2));
  end.final = true;
  end.answer.status = static_cast<int>(parts.number());
  for (std::uint64_t left = parts.number(); left > 0 && parts.ok; --left) {
    std::string name = parts.text();
    end.answer.headers.emplace_back(std::move(name), parts.text());
  }
  end.answer.body = parts.text();
  end.answer.body_cut = parts.number() != 0;
  end.reason = parts.text();
  end.operation_id = parts.text();
  return end;
}

Result<IntentRecord> decode(std::string_view payload) {
  Parts parts{payload};
  IntentRecord record;
  record.name = parts.text();
  record.key = parts.text();
  record.request = parts.text();
  record.identity = parts.text();
  record.in_doubt = parts.number() != 0;
  if (parts.number() != 0) record.end = read_end(parts);
  if (!parts.ok || !parts.rest.empty()) return Error{Errc::unreadable, "not an intent of this version"};
  return record;
}

struct Entry {
  bool cut_short = false;
  std::string_view payload;
  std::size_t bytes = 0;
};

Result<Entry> first_entry(std::string_view file) {
  // After a power cut the end of a file can be zeros that were never written.
  if (std::ranges::all_of(file, [](char c) { return c == '\0'; })) return Entry{.cut_short = true};
  const std::string_view begin = file.substr(0, magic.size());
  if (begin != magic.substr(0, begin.size())) return Error{Errc::unreadable, "not an intent"};
  if (file.size() < head_bytes) return Entry{.cut_short = true};
  // Without its own checksum, a wrong length would look like an entry that was cut short.
  if (crc32c(file.substr(0, 12)) != read_u32(file.substr(12)))
    return Error{Errc::unreadable, "its checksum is wrong"};
  const std::size_t length = read_u32(file.substr(4));
  if (file.size() - head_bytes < length) return Entry{.cut_short = true};
  const std::string_view payload = file.substr(head_bytes, length);
  if (crc32c(payload) != read_u32(file.substr(8))) return Error{Errc::unreadable, "its checksum is wrong"};
  return Entry{false, payload, head_bytes + length};
}

}  // namespace

std::string encode_entry(const IntentRecord& record) {
  std::string payload;
  for (const std::string* part : {&record.name, &record.key, &record.request, &record.identity})
    append_part(payload, *part);
  append_varint(payload, record.in_doubt ? 1 : 0);
  append_varint(payload, record.end ? 1 : 0);
  if (record.end) append_end(payload, *record.end);
  std::string entry(magic);
  append_u32(entry, static_cast<std::uint32_t>(payload.size()));
  append_u32(entry, crc32c(payload));
  append_u32(entry, crc32c(entry));
  return entry + payload;
}

Result<std::optional<IntentRecord>> last_entry(std::string_view file) {
  std::optional<IntentRecord> last;
  while (!file.empty()) {
    const Result<Entry> entry = first_entry(file);
    if (!entry) return entry.error();
    if (entry->cut_short) break;
    Result<IntentRecord> record = decode(entry->payload);
    if (!record) return record.error();
    last = std::move(*record);
    file.remove_prefix(entry->bytes);
  }
  return last;
}

std::size_t whole_bytes(std::string_view file) {
  std::size_t bytes = 0;
  while (bytes < file.size()) {
    const Result<Entry> entry = first_entry(file.substr(bytes));
    if (!entry || entry->cut_short) break;
    bytes += entry->bytes;
  }
  return bytes;
}

}  // namespace onceward::client
