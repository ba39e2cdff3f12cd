#include "stores/embedded/inspect.hpp"

#include <fcntl.h>

#include <algorithm>

#include "stores/embedded/folder.hpp"
#include "stores/embedded/recovery.hpp"

namespace onceward::embedded {
namespace {

// Who has the store open unlinks segments while they are looked at, and what is being written may be seen
// half: a moment later it is whole, while damage is still there. So what looks wrong is looked at again.
constexpr int attempts = 5;

template <class Look, class LooksWrong>
auto look_again(Look look, LooksWrong looks_wrong) {
  auto result = look();
  for (int i = 1; i < attempts && looks_wrong(result); ++i) result = look();
  return result;
}

struct Front {
  SegmentReport report;
  SegmentHeader header;
};

struct Opened : Front {
  File file;
};

Result<Front> read_front(FileOps& ops, const std::string& folder, SegmentId id, const File& file) {
  std::string bytes(segment_header_bytes, '\0');
  if (const Result<std::size_t> got = file.read_some(bytes.data(), bytes.size(), 0); !got) return got.error();
  SegmentReport report;
  report.id = id;
  if (const Result<std::uint64_t> size = file.size()) report.file_bytes = *size;
  std::optional<SegmentHeader> header = decode_segment_header(bytes);
  if (!header || header->id != id) {
    report.lost = "the segment's header is damaged";
    header = SegmentHeader{};
    header->id = id;
  }
  const Result<SealedIndex> index = SealedIndex::open(ops, index_path(folder, id), id);
  report.sealed = index || index.error().code != Errc::not_found;
  report.index_damaged = report.sealed && !index;
  if (index) {
    report.data_bytes = index->summary().data_end;
    report.entries = index->summary().entries;
    report.removals = index->summary().removals;
  }
  return Front{std::move(report), *header};
}

Result<Opened> open_segment(FileOps& ops, const std::string& folder, SegmentId id) {
  Result<File> file = File::open(ops, segment_path(folder, id), O_RDONLY);
  if (!file) return file.error();
  Result<Front> front = read_front(ops, folder, id, *file);
  if (!front) return front.error();
  return Opened{std::move(*front), std::move(*file)};
}

Result<std::vector<Opened>> open_all(FileOps& ops, const std::string& folder) {
  if (const Result<bool> damaged = has_damaged_marker(ops, folder); !damaged) return damaged.error();
  std::vector<std::string> names;
  if (const int result = ops.list(folder, names); result < 0) return file_error("list " + folder, result);
  std::vector<SegmentId> ids;
  for (const std::string& name : names) {
    if (const auto id = id_of_name(name, ".log")) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  std::vector<Opened> all;
  for (const SegmentId id : ids) {
    Result<Opened> opened = open_segment(ops, folder, id);
    if (!opened && opened.error().code == Errc::not_found) continue;  // purged meanwhile by who has it open
    if (!opened) return opened.error();
    all.push_back(std::move(*opened));
  }
  return all;
}

void check_index(FileOps& ops, const std::string& folder, SegmentReport& report) {
  const Result<SealedIndex> index = SealedIndex::open(ops, index_path(folder, report.id), report.id);
  if (!index) return;
  for (std::size_t number = 0; number < index->blocks(); ++number) {
    if (!index->block(number)) report.index_damaged = true;
  }
}

void count_entry(SegmentReport& report, const Record& record) {
  switch (role_of(record)) {
    case Role::mark:
      ++report.marks;
      return;
    case Role::event:
      ++report.events;
      return;
    case Role::record:
      ++report.by_state[static_cast<std::size_t>(record.state)];
      return;
  }
}

Result<SegmentReport> verify_once(FileOps& ops, const std::string& folder, const Opened& opened,
                                  std::uint64_t trusted_end) {
  Result<Front> front = read_front(ops, folder, opened.header.id, opened.file);
  if (!front) return front.error();
  const Result<std::string> bytes = read_all(opened.file);
  if (!bytes) return bytes.error();
  SegmentReport& report = front->report;
  report.entries = report.removals = 0;
  const Result<ScanResult> scan = scan_segment(*bytes, front->header, trusted_end, [&](ScannedEntry&& entry) {
    ++report.entries;
    if (entry.damaged || entry.kind == EntryKind::damage) {
      report.damaged_at.push_back(entry.offset);
    } else if (entry.kind == EntryKind::removal) {
      ++report.removals;
    } else {
      count_entry(report, entry.record);
    }
  });
  if (!scan) {
    report.lost = scan.error().message;
    return report;
  }
  report.data_bytes = scan->end;
  report.torn = scan->torn;
  return report;
}

Result<SegmentReport> verify_segment(FileOps& ops, const std::string& folder, const Opened& opened,
                                     std::uint64_t trusted_end) {
  return look_again([&] { return verify_once(ops, folder, opened, trusted_end); },
                    [](const Result<SegmentReport>& report) {
                      return report && (!report->lost.empty() || !report->damaged_at.empty() || report->torn);
                    });
}

std::vector<SegmentReport> reports_of(std::vector<Opened>& all) {
  std::vector<SegmentReport> reports;
  for (Opened& one : all) reports.push_back(std::move(one.report));
  return reports;
}

}  // namespace

Result<bool> has_damaged_marker(FileOps& ops, const std::string& folder) {
  const Result<Marker> marker = check_marker(ops, folder);
  if (!marker)
    return Error{Errc::refused, folder + " is not a store of ours (" + marker.error().message + ")"};
  return *marker == Marker::damaged;
}

Result<std::vector<SegmentReport>> inspect_folder(FileOps& ops, const std::string& folder) {
  Result<std::vector<Opened>> all = open_all(ops, folder);
  if (!all) return all.error();
  return reports_of(*all);
}

Result<std::vector<SegmentReport>> verify_folder(
    FileOps& ops, const std::string& folder,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  Result<std::vector<Opened>> all = open_all(ops, folder);
  if (!all) return all.error();
  std::uint64_t total = 0;
  for (const Opened& one : *all) total += one.report.file_bytes;
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < all->size(); ++i) {
    Opened& one = (*all)[i];
    const bool has_next = i + 1 < all->size() && (*all)[i + 1].report.lost.empty();
    const SegmentHeader next = has_next ? (*all)[i + 1].header : SegmentHeader{};
    const std::uint64_t trusted_end = next.previous_id == one.header.id ? next.previous_end : 0;
    Result<SegmentReport> verified = verify_segment(ops, folder, one, trusted_end);
    if (!verified) return verified.error();
    one.report = std::move(*verified);
    if (has_next && next.previous_id != one.header.id && one.report.lost.empty())
      one.report.lost = "the segment after this one is missing";
    check_index(ops, folder, one.report);
    done += one.report.file_bytes;
    progress(done, total);
  }
  return reports_of(*all);
}

Result<FolderStats> folder_stats(FileOps& ops, const std::string& folder) {
  if (const Result<bool> damaged = has_damaged_marker(ops, folder); !damaged) return damaged.error();
  const Result<Recovered> found =
      look_again([&] { return recover(ops, folder, false); },
                 [](const Result<Recovered>& seen) {
                   return seen ? seen->damaged > 0 : seen.error().code != Errc::refused;
                 });
  if (!found) return found.error();
  FolderStats stats;
  stats.records = found->records;
  stats.segments = found->sealed.size() + found->recents.size();
  stats.damaged = found->damaged;
  stats.written_at = found->written_at;
  stats.events = found->events.size();
  for (const Record& record : found->open) {
    if (role_of(record) == Role::mark) {
      ++stats.held_marks;
    } else {
      ++stats.open_by_state[static_cast<std::size_t>(record.state)];
    }
  }
  for (const SealedPtr& sealed : found->sealed) {
    stats.bytes += sealed->index.summary().data_end + sealed->index.file_bytes();
  }
  for (const RecoveredSegment& recent : found->recents) stats.bytes += recent.scan.end;
  return stats;
}

}  // namespace onceward::embedded
