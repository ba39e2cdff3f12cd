#include "stores/embedded/segment.hpp"

#include <cinttypes>
#include <cstdio>

#include "core/record_codec.hpp"

namespace onceward::embedded {
namespace {

std::string numbered(const std::string& folder, SegmentId id, const char* ending) {
  char name[40];
  std::snprintf(name, sizeof name, "%016" PRIx64 "%s", id, ending);
  return folder + "/" + name;
}

Error damaged(const Segment& segment, std::uint32_t offset) {
  return {Errc::unreadable,
          "a record is damaged in " + segment.file.path() + " at byte " + std::to_string(offset)};
}

}  // namespace

std::string segment_path(const std::string& folder, SegmentId id) { return numbered(folder, id, ".log"); }
std::string index_path(const std::string& folder, SegmentId id) { return numbered(folder, id, ".idx"); }
std::string spare_path(const std::string& folder, std::uint64_t which) {
  return folder + "/spare." + std::to_string(which);
}
bool is_spare_name(const std::string& name) { return name.starts_with("spare."); }

std::optional<SegmentId> id_of_name(const std::string& name, const char* ending) {
  if (name.size() != 16 + std::char_traits<char>::length(ending) || !name.ends_with(ending))
    return std::nullopt;
  SegmentId id = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const char digit = name[i];
    if (digit >= '0' && digit <= '9') {
      id = id * 16 + static_cast<SegmentId>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      id = id * 16 + static_cast<SegmentId>(digit - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return id;
}

Result<Entry> read_entry(const Segment& segment, std::uint32_t offset, std::uint32_t payload_bytes,
                         std::uint64_t prefix) {
  thread_local std::string bytes;  // replays read often; the buffer is kept
  bytes.resize(entry_header_bytes + payload_bytes);
  if (!segment.recent || !segment.recent->read(segment.id(), offset, bytes)) {
    const Result<std::size_t> got = segment.file.read_some(bytes.data(), bytes.size(), offset);
    if (!got) return got.error();
    if (*got != bytes.size()) return damaged(segment, offset);
  }
  const std::string_view payload = std::string_view(bytes).substr(entry_header_bytes);
  const std::optional<EntryHeader> header = decode_entry_header(bytes);
  // A damaged header takes nothing away: the payload says for itself whose it is.
  const bool may_be_removal = !header || header->kind == EntryKind::removal;
  if (header && (header->payload_bytes != payload_bytes || header->prefix != prefix))
    return damaged(segment, offset);
  if (may_be_removal) {
    if (const std::optional<Scope> scope = decode_removal(payload)) return Entry(Removed{*scope});
  }
  Result<Record> record = decode_record(payload);
  if (!record)
    return Error{Errc::unreadable, damaged(segment, offset).message + ": " + record.error().message};
  return Entry(std::move(*record));
}

Result<std::string> read_all(const File& file) {
  const Result<std::uint64_t> size = file.size();
  if (!size) return size.error();
  std::string bytes(static_cast<std::size_t>(*size), '\0');
  const Result<std::size_t> got = file.read_some(bytes.data(), bytes.size(), 0);
  if (!got) return got.error();
  bytes.resize(*got);
  return bytes;
}

}  // namespace onceward::embedded
