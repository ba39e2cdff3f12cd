#include "stores/embedded/log_scan.hpp"

#include <algorithm>
#include <vector>

#include "core/record_codec.hpp"
#include "core/scope.hpp"

namespace onceward::embedded {
namespace {

// A disk writes whole sectors, and unwritten space reads as zeros: a write that a power cut left
// unfinished shows a sector of zeros, a flipped bit does not.
constexpr std::uint64_t sector_bytes = 512;

bool all_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

class Scanner {
 public:
  Scanner(std::string_view bytes, const SegmentHeader& header, std::uint64_t trusted_end,
          const std::function<void(ScannedEntry&&)>& visit)
      : bytes_(trusted_end ? bytes.substr(0, std::min<std::uint64_t>(trusted_end, bytes.size())) : bytes),
        header_(header),
        trusted_end_(trusted_end),
        visit_(visit) {
    found_.end = found_.dirty_end = segment_header_bytes;
  }

  Result<ScanResult> run() {
    std::uint64_t at = segment_header_bytes;
    for (;;) {
      const std::optional<BatchHeader> batch = batch_at(at);
      if (batch && whole(at, *batch)) {
        if (Result<bool> taken = take_batch(at, *batch); !taken)
          return taken.error();
        else if (!*taken)
          break;
        at = behind(at, *batch);
        continue;
      }
      const std::uint64_t next = next_batch(at + batch_alignment);
      if (next != 0) {
        if (Result<Done> taken = take_gap(at, next); !taken) return taken.error();
        at = next;
        continue;
      }
      Result<std::uint64_t> end = take_tail(at, batch.has_value());
      if (!end) return end.error();
      at = *end;
      break;
    }
    if (found_.end < trusted_end_ && !header_.unsynced) {
      return lost(found_.end, "ends before the place where its successor says it does");
    }
    return found_;
  }

 private:
  Error lost(std::uint64_t at, const char* why) const {
    return {Errc::unreadable,
            "segment " + std::to_string(header_.id) + " at byte " + std::to_string(at) + ": " + why};
  }

  std::optional<BatchHeader> batch_at(std::uint64_t at) const {
    if (at + batch_header_bytes > bytes_.size()) return std::nullopt;
    std::optional<BatchHeader> batch = decode_batch_header(bytes_.substr(at), header_.id);
    if (batch && found_.sequence != 0 && batch->sequence <= found_.sequence) return std::nullopt;
    return batch;
  }
  bool whole(std::uint64_t at, const BatchHeader& batch) const {
    return at + batch_header_bytes + batch.payload_bytes <= bytes_.size();
  }
  static std::uint64_t behind(std::uint64_t at, const BatchHeader& batch) {
    return aligned(at + batch_header_bytes + batch.payload_bytes);
  }
  // The next place where a batch of this segment begins, or 0.
  std::uint64_t next_batch(std::uint64_t from) const {
    for (std::uint64_t at = from; at + batch_header_bytes <= bytes_.size(); at += batch_alignment) {
      if (bytes_[at] == 'O' && batch_at(at)) return at;
    }
    return 0;
  }
  std::uint64_t last_dirty(std::uint64_t from) const {
    std::uint64_t end = bytes_.size();
    while (end > from && bytes_[end - 1] == 0) --end;
    return end;
  }
  bool has_lost_sector(std::uint64_t from, std::uint64_t to) const {
    to = std::min<std::uint64_t>(to, bytes_.size());
    for (std::uint64_t at = from; at < to;) {
      const std::uint64_t sector_end =
          std::min<std::uint64_t>((at / sector_bytes + 1) * sector_bytes, bytes_.size());
      if (all_zero(bytes_.substr(at, sector_end - at))) return true;
      at = sector_end;
    }
    return false;
  }

  // Fills in what the payload says; false when it cannot be read.
  static bool read_payload(ScannedEntry& entry, std::string_view payload) {
    switch (entry.kind) {
      case EntryKind::record: {
        Result<Record> record = decode_record(payload);
        if (!record || scope_prefix(record->scope) != entry.prefix) return false;
        entry.record = std::move(*record);
        entry.scope = entry.record.scope;
        return true;
      }
      case EntryKind::removal: {
        const std::optional<Scope> scope = decode_removal(payload);
        if (!scope || scope_prefix(*scope) != entry.prefix) return false;
        entry.scope = *scope;
        return true;
      }
      case EntryKind::damage: {
        const std::optional<Timestamp> gone_at = decode_damage(payload);
        if (!gone_at) return false;
        entry.gone_at = *gone_at;
        return true;
      }
    }
    return false;
  }

  // The entry whose header is damaged, told from its payload; length 0 when that is damaged too.
  ScannedEntry from_payload(std::uint64_t at, std::uint64_t end) const {
    ScannedEntry entry;
    entry.offset = static_cast<std::uint32_t>(at);
    const std::string_view rest = bytes_.substr(at, end - at);
    if (rest.size() <= entry_header_bytes) return entry;
    const std::string_view payload = rest.substr(entry_header_bytes);
    const std::size_t length = encoded_length(payload);
    if (length > 0 && length <= payload.size()) {
      if (Result<Record> record = decode_record(payload.substr(0, length))) {
        entry.record = std::move(*record);
        entry.scope = entry.record.scope;
        entry.prefix = scope_prefix(entry.scope);
        entry.payload_bytes = static_cast<std::uint32_t>(length);
        return entry;
      }
    }
    if (payload.size() >= removal_bytes) {
      if (const std::optional<Scope> scope = decode_removal(payload.substr(0, removal_bytes))) {
        entry.kind = EntryKind::removal;
        entry.scope = *scope;
        entry.prefix = scope_prefix(*scope);
        entry.payload_bytes = removal_bytes;
      }
    }
    return entry;
  }

  struct Walk {
    std::vector<ScannedEntry> entries;
    bool damaged = false;          // some entry cannot be read, and it is known whose it is
    std::uint64_t stopped_at = 0;  // not 0: nothing can be told from here on
    std::uint64_t end = 0;
  };

  // Entries from `at` to `end`; `count` 0: until the bytes are zero.
  Walk walk(std::uint64_t at, std::uint64_t end, std::uint32_t count) const {
    Walk result;
    while (at < end && (count == 0 || result.entries.size() < count)) {
      if (count == 0 && all_zero(bytes_.substr(at, std::min<std::uint64_t>(entry_header_bytes, end - at))))
        break;
      const std::optional<EntryHeader> header = decode_entry_header(bytes_.substr(at, end - at));
      ScannedEntry entry;
      if (header && at + entry_header_bytes + header->payload_bytes <= end) {
        entry.kind = header->kind;
        entry.prefix = header->prefix;
        entry.offset = static_cast<std::uint32_t>(at);
        entry.payload_bytes = header->payload_bytes;
        entry.damaged = !read_payload(entry, bytes_.substr(at + entry_header_bytes, header->payload_bytes));
        result.damaged |= entry.damaged;
      } else {
        entry = from_payload(at, end);
        if (entry.payload_bytes == 0) {
          result.stopped_at = at;
          break;
        }
      }
      at += entry_header_bytes + entry.payload_bytes;
      result.entries.push_back(std::move(entry));
    }
    result.end = at;
    // Too few, or bytes left over: an entry was taken for something that it is not.
    const bool fits = count == 0 || (result.entries.size() == count && at == end);
    if (!fits && result.stopped_at == 0) result.stopped_at = at;
    return result;
  }

  void emit(Walk&& found) {
    for (ScannedEntry& entry : found.entries) {
      if (entry.damaged) ++found_.damaged;
      visit_(std::move(entry));
    }
  }

  // False: it is the torn tail.
  Result<bool> take_batch(std::uint64_t at, const BatchHeader& batch) {
    const std::uint64_t end = at + batch_header_bytes + batch.payload_bytes;
    Walk found = walk(at + batch_header_bytes, end, batch.count);
    if (batch.count == 0) found.stopped_at = 0;
    if (found.damaged || found.stopped_at != 0) {
      const bool is_last = trusted_end_ == 0 && next_batch(behind(at, batch)) == 0;
      if (is_last && has_lost_sector(at, end)) {
        cut(at);
        return false;
      }
      if (found.stopped_at != 0 && !header_.unsynced) {
        return lost(found.stopped_at, "damaged, and it cannot be told which record was there");
      }
    }
    emit(std::move(found));
    found_.sequence = batch.sequence;
    found_.records = batch.records;
    found_.written_at = batch.written_at;
    found_.closed = batch.closing;
    found_.end = behind(at, batch);
    found_.dirty_end = found_.end;
    return true;
  }

  void cut(std::uint64_t at) {
    found_.end = at;
    found_.dirty_end = last_dirty(at);
    found_.torn = found_.dirty_end > at;
  }

  // Between `at` and `next` there is no readable batch header, though a later batch is there.
  Result<Done> take_gap(std::uint64_t at, std::uint64_t next) {
    Walk found = walk(at + batch_header_bytes, next, 0);
    const bool reaches_next = found.stopped_at == 0 && aligned(found.end) == next && !found.entries.empty();
    if (reaches_next || header_.unsynced) {
      emit(std::move(found));
      return Done{};
    }
    return lost(at, "a batch is damaged, and it cannot be told which records it held");
  }

  // Nothing readable begins at `at` or later: the clean end, a torn write, or a damaged last batch.
  Result<std::uint64_t> take_tail(std::uint64_t at, bool header_is_whole) {
    if (last_dirty(at) <= at) return at;
    const bool cut_short = header_is_whole || at + batch_header_bytes > bytes_.size();
    if (cut_short || has_lost_sector(at, at + batch_header_bytes)) {
      cut(at);
      return at;
    }
    Walk found = walk(at + batch_header_bytes, bytes_.size(), 0);
    if (found.damaged || found.stopped_at != 0) {
      const std::uint64_t reach = found.stopped_at != 0 ? found.stopped_at + sector_bytes : found.end;
      if (header_.unsynced || has_lost_sector(at, reach) || reach >= bytes_.size()) {
        cut(at);
        return at;
      }
      return lost(at, "the last batch is damaged, and it cannot be told which records it held");
    }
    const std::uint64_t end = aligned(found.end);
    emit(std::move(found));
    found_.sequence += 1;
    found_.end = found_.dirty_end = end;
    return end;
  }

  std::string_view bytes_;
  const SegmentHeader& header_;
  const std::uint64_t trusted_end_;
  const std::function<void(ScannedEntry&&)>& visit_;
  ScanResult found_;
};

}  // namespace

Result<ScanResult> scan_segment(std::string_view bytes, const SegmentHeader& header,
                                std::uint64_t trusted_end, const std::function<void(ScannedEntry&&)>& visit) {
  return Scanner(bytes, header, trusted_end, visit).run();
}

}  // namespace onceward::embedded
