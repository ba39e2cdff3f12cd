#include "stores/embedded/inspect.hpp"

#include <fcntl.h>

#include <algorithm>

#include "stores/embedded/folder.hpp"
#include "stores/embedded/recovery.hpp"

namespace onceward::embedded {
namespace {

// A live store unlinks segments while they are being looked at; then the look begins anew.
constexpr int attempts = 5;

template <class Look>
auto look_again(Look look) {
  auto result = look();
  for (int i = 1; i < attempts && !result && result.error().code == Errc::not_found; ++i) result = look();
  return result;
}

struct Opened {
  SegmentReport report;
  SegmentHeader header;
  File file;
};

Result<Opened> open_segment(FileOps& ops, const std::string& folder, SegmentId id) {
  Result<File> file = File::open(ops, segment_path(folder, id), O_RDONLY);
  if (!file) return file.error();
  std::string bytes(segment_header_bytes, '\0');
  if (const Result<std::size_t> got = file->read_some(bytes.data(), bytes.size(), 0); !got)
    return got.error();
  SegmentReport report;
  report.id = id;
  if (const Result<std::uint64_t> size = file->size()) report.file_bytes = *size;
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
  return Opened{std::move(report), *header, std::move(*file)};
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

Result<Done> verify_segment(Opened& opened, std::uint64_t trusted_end) {
  const Result<std::string> bytes = read_all(opened.file);
  if (!bytes) return bytes.error();
  SegmentReport& report = opened.report;
  report.entries = report.removals = 0;
  const Result<ScanResult> scan = scan_segment(*bytes, opened.header, trusted_end, [&](ScannedEntry&& entry) {
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
    return Done{};
  }
  report.data_bytes = scan->end;
  report.torn = scan->torn;
  return Done{};
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
  Result<std::vector<Opened>> all = look_again([&] { return open_all(ops, folder); });
  if (!all) return all.error();
  return reports_of(*all);
}

Result<std::vector<SegmentReport>> verify_folder(
    FileOps& ops, const std::string& folder,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  Result<std::vector<Opened>> all = look_again([&] { return open_all(ops, folder); });
  if (!all) return all.error();
  std::uint64_t total = 0;
  for (const Opened& one : *all) total += one.report.file_bytes;
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < all->size(); ++i) {
    Opened& one = (*all)[i];
    const bool has_next = i + 1 < all->size() && (*all)[i + 1].report.lost.empty();
    const SegmentHeader next = has_next ? (*all)[i + 1].header : SegmentHeader{};
    if (has_next && next.previous_id != one.header.id)
      one.report.lost = "the segment after this one is missing";
    const std::uint64_t trusted_end = next.previous_id == one.header.id ? next.previous_end : 0;
    if (Result<Done> verified = verify_segment(one, trusted_end); !verified) return verified.error();
    check_index(ops, folder, one.report);
    done += one.report.file_bytes;
    progress(done, total);
  }
  return reports_of(*all);
}

Result<FolderStats> folder_stats(FileOps& ops, const std::string& folder) {
  if (const Result<bool> damaged = has_damaged_marker(ops, folder); !damaged) return damaged.error();
  const Result<Recovered> found = look_again([&] { return recover(ops, folder, false); });
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
