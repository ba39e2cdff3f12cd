#include <fcntl.h>
#include <algorithm>

#include "base/assert.hpp"
#include "stores/embedded/folder.hpp"
#include "stores/embedded/store_impl.hpp"

namespace onceward::embedded {
namespace {

constexpr std::uint64_t segment_bytes_min = 16 << 10;
constexpr std::uint64_t segment_bytes_max = 1ull << 30;  // offsets in a segment have 32 bits
// A segment that is begun here is a small one: somebody waits for it to be zeroed, where the others are made
// ahead of time. Blocks that were never written make each sync dearer. Large enough that the next one is
// ready before it is needed.
constexpr std::uint64_t first_segment_bytes = 16 << 20;

// A torn tail is zeroed before anything is written over it, so that the next recovery finds zeros behind
// the last batch and not half of a write that never was.
Result<Done> clear_tail(RecoveredSegment& active, bool synced) {
  const std::string zeros(1 << 16, '\0');
  for (std::uint64_t at = active.scan.end; at < active.scan.dirty_end; at += zeros.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(zeros.size(), active.scan.dirty_end - at);
    if (Result<Done> written = active.segment->file.write(std::string_view(zeros).substr(0, count), at);
        !written) {
      return written;
    }
  }
  if (synced && active.scan.dirty_end > active.scan.end) return active.segment->file.sync();
  return Done{};
}

bool can_go_on(const RecoveredSegment& last, const EmbeddedOptions& options) {
  const bool synced = options.durability == Durability::disk;
  return !last.header_damaged && last.segment->header.unsynced == !synced &&
         last.file_bytes >= last.scan.end + std::min(options.segment_bytes, last.file_bytes) / 8;
}

// The segment that takes the next writes: the last one if it has room, else a new one.
Result<LogPosition> find_position(FileOps& ops, const EmbeddedOptions& options, Recovered& recovered) {
  LogPosition position;
  position.sequence = recovered.sequence;
  position.records = recovered.records;
  const bool synced = options.durability == Durability::disk;
  if (!recovered.recents.empty() && can_go_on(recovered.recents.front(), options)) {
    RecoveredSegment& last = recovered.recents.front();
    if (Result<Done> cleared = clear_tail(last, synced); !cleared) return cleared.error();
    position.segment = last.segment;
    position.end = last.scan.end;
    position.capacity = last.file_bytes;
    return position;
  }
  SegmentHeader header;
  header.id = 1;
  header.created_at = options.clock->now();
  header.unsynced = !synced;
  if (!recovered.recents.empty()) {
    header.previous_id = recovered.recents.front().segment->id();
    header.previous_end = recovered.recents.front().scan.end;
    header.id = header.previous_id + 1;
  }
  const std::uint64_t capacity =
      synced ? std::min(first_segment_bytes, options.segment_bytes) : options.segment_bytes;
  Result<File> file = SegmentSupply::make(ops, spare_path(options.dir, 0), capacity, synced ? capacity : 0);
  if (!file) return file.error();
  Result<SegmentPtr> segment = LogWriter::begin_segment(ops, options.dir, std::move(*file), header, synced);
  if (!segment) return segment.error();
  RecoveredSegment fresh;
  fresh.segment = *segment;
  recovered.recents.insert(recovered.recents.begin(), std::move(fresh));
  position.segment = std::move(*segment);
  position.end = segment_header_bytes;
  position.capacity = capacity;
  return position;
}

}  // namespace

Result<std::unique_ptr<EmbeddedStore>> open_embedded(const EmbeddedOptions& options) {
  ONCEWARD_ASSERT(options.clock != nullptr);
  if (options.segment_bytes < segment_bytes_min || options.segment_bytes > segment_bytes_max) {
    return Error{Errc::invalid, "segments must have between 16 KiB and 1 GiB"};
  }
  FileOps& ops = options.file_ops ? *options.file_ops : system_file_ops();
  Result<Entered> entered = enter_folder(ops, options.dir);
  if (!entered) return entered.error();
  Result<Recovered> recovered = recover(ops, options.dir, true);
  if (!recovered) return recovered.error();
  Result<LogPosition> position = find_position(ops, options, *recovered);
  if (!position) return position.error();
  return std::unique_ptr<EmbeddedStore>(std::make_unique<StoreImpl>(
      options, ops, std::move(*entered), std::move(*recovered), std::move(*position)));
}

}  // namespace onceward::embedded
