#include "stores/embedded/recovery.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace onceward::embedded {
namespace {

constexpr auto last_write_patience = std::chrono::seconds(30);
constexpr auto last_write_pause = std::chrono::milliseconds(5);

struct FoundSegment {
  SegmentPtr segment;
  std::uint64_t file_bytes = 0;
  std::uint64_t trusted_end = 0;  // from the next segment's header
  bool header_damaged = false;
};

class Recovery {
 public:
  Recovery(FileOps& ops, const std::string& folder, bool repair)
      : ops_(ops), folder_(folder), repair_(repair) {}

  Result<Recovered> run() {
    if (Result<Done> listed = find_segments(); !listed) return listed.error();
    if (Result<Done> linked = link(); !linked) return linked.error();
    if (Result<Done> opened = open_segments(); !opened) return opened.error();
    collect_open();
    for (const RecoveredSegment& recent : found_.recents) found_.damaged += recent.damaged.size();
    return std::move(found_);
  }

 private:
  Result<Done> find_segments() {
    std::vector<std::string> names;
    if (const int result = ops_.list(folder_, names); result < 0)
      return file_error("list " + folder_, result);
    std::vector<SegmentId> ids;
    for (const std::string& name : names) {
      if (const auto id = id_of_name(name, ".log")) ids.push_back(*id);
    }
    std::sort(ids.begin(), ids.end());
    if (repair_ && !ids.empty()) {
      if (Result<Done> ended = wait_for_last_write(segment_path(folder_, ids.back())); !ended) return ended;
    }
    for (const SegmentId id : ids) {
      if (Result<Done> opened = open_log(id); !opened) return opened;
    }
    if (repair_) remove_leftovers(names, ids);
    return Done{};
  }

  // What the owner before was writing when it was killed is written all the same, perhaps after we have read
  // what there is. Its write holds a lock (block_writer.cpp) until it has ended.
  Result<Done> wait_for_last_write(const std::string& path) {
    Result<File> file = File::open(ops_, path, O_RDWR);
    if (!file) return file.error();
    const auto give_up = std::chrono::steady_clock::now() + last_write_patience;
    while (!file->lock()) {
      if (std::chrono::steady_clock::now() >= give_up)
        return Error{Errc::unavailable, "a write to " + path + " by the process before does not end"};
      std::this_thread::sleep_for(last_write_pause);
    }
    return Done{};
  }

  void remove_leftovers(const std::vector<std::string>& names, const std::vector<SegmentId>& ids) {
    for (const std::string& name : names) {
      const auto id = id_of_name(name, ".idx");
      const bool orphan = id && !std::binary_search(ids.begin(), ids.end(), *id);
      const bool unfinished = name.ends_with(".idx.new") || is_spare_name(name);
      if (orphan || unfinished) ops_.unlink(folder_ + "/" + name);
    }
  }

  Result<Done> open_log(SegmentId id) {
    Result<File> file = File::open(ops_, segment_path(folder_, id), repair_ ? O_RDWR : O_RDONLY);
    if (!file) return file.error();
    const Result<std::uint64_t> size = file->size();
    if (!size) return size.error();
    std::string bytes(segment_header_bytes, '\0');
    const Result<std::size_t> got = file->read_some(bytes.data(), bytes.size(), 0);
    if (!got) return got.error();
    std::optional<SegmentHeader> header = decode_segment_header(bytes);
    FoundSegment found;
    found.header_damaged = !header || header->id != id;
    if (header && header->format > format_version) {
      return Error{Errc::refused, file->path() + " is of a newer format"};
    }
    if (found.header_damaged) {
      header = SegmentHeader{};
      header->id = id;  // the name says it too; what its predecessor's end was is checked by scanning
    }
    found.segment = std::make_shared<Segment>(*header, std::move(*file));
    found.file_bytes = *size;
    segments_.push_back(std::move(found));
    return Done{};
  }

  // Segments go from the oldest on, so a gap between two of them is a lost file.
  Result<Done> link() {
    for (std::size_t i = 1; i < segments_.size(); ++i) {
      const SegmentHeader& header = segments_[i].segment->header;
      if (header.id != segments_[i - 1].segment->id() + 1) {
        return Error{Errc::unreadable,
                     folder_ + ": segment " + std::to_string(header.id - 1) + " is missing"};
      }
      if (!segments_[i].header_damaged) segments_[i - 1].trusted_end = header.previous_end;
    }
    return Done{};
  }

  Result<Done> open_sealed(const FoundSegment& found) {
    Result<SealedIndex> index =
        SealedIndex::open(ops_, index_path(folder_, found.segment->id()), found.segment->id());
    if (!index) return index.error();
    if (found.trusted_end != 0 && index->summary().data_end != found.trusted_end) {
      return Error{Errc::unreadable, "the index does not fit its segment"};
    }
    Filter filter = index->take_filter();
    add_sealed(std::make_shared<const Sealed>(Sealed{found.segment, std::move(*index)}), std::move(filter));
    return Done{};
  }

  // Newest first. Segments without an index at the new end stay in memory and are sealed later; an older
  // one is given its index now, for lookups go through memory first and then through sealed segments.
  Result<Done> open_segments() {
    bool at_new_end = true;
    for (std::size_t i = segments_.size(); i-- > 0;) {
      const FoundSegment& found = segments_[i];
      const bool is_last = i + 1 == segments_.size();
      if (!is_last) {
        const Result<Done> opened = open_sealed(found);
        if (!opened && opened.error().code == Errc::unavailable) return opened;
        if (opened) {
          at_new_end = false;
          continue;
        }
      }
      Result<RecoveredSegment> scanned = scan(found);
      if (!scanned) return scanned.error();
      if (at_new_end) {
        remember(scanned->scan.sequence, scanned->scan.records, scanned->scan.written_at);
        found_.recents.push_back(std::move(*scanned));
        continue;
      }
      if (!repair_) {
        return Error{Errc::unreadable, index_path(folder_, found.segment->id()) +
                                           " is missing or damaged; opening the store rebuilds it"};
      }
      if (Result<Done> rebuilt = rebuild(found, *scanned); !rebuilt) return rebuilt;
    }
    return Done{};
  }

  Result<RecoveredSegment> scan(const FoundSegment& found) {
    const Result<std::string> bytes = read_all(found.segment->file);
    if (!bytes) return bytes.error();
    RecoveredSegment result;
    result.segment = found.segment;
    result.file_bytes = found.file_bytes;
    result.header_damaged = found.header_damaged;
    Result<ScanResult> scanned = scan_segment(
        *bytes, found.segment->header, found.trusted_end,
        [&](ScannedEntry&& entry) { note_entry(std::move(entry), result.slots, result.damaged); });
    if (!scanned) return scanned.error();
    result.scan = *scanned;
    return result;
  }

  Result<Done> rebuild(const FoundSegment& found, const RecoveredSegment& scanned) {
    const SegmentId id = found.segment->id();
    const IndexSummary summary{id,
                               scanned.scan.end,
                               scanned.scan.sequence,
                               scanned.scan.records,
                               scanned.scan.written_at.value_or(Timestamp{}),
                               0,
                               {},
                               0};
    if (Result<Done> written = SealedIndex::write(ops_, index_path(folder_, id), summary,
                                                  index_entries(scanned.slots, scanned.damaged));
        !written) {
      return written;
    }
    return open_sealed(found);
  }

  void add_sealed(SealedPtr sealed, Filter filter) {
    const IndexSummary& summary = sealed->index.summary();
    if (summary.sequence != 0) remember(summary.sequence, summary.records, summary.written_at);
    for (const IndexEntry& entry : sealed->index.open_entries()) {
      if (entry.state == damaged_state) ++found_.damaged;
    }
    found_.sealed.add_oldest(std::move(sealed), std::move(filter));
  }

  // Called newest first: the first batch seen is the last one written.
  void remember(std::uint64_t sequence, std::uint64_t records, std::optional<Timestamp> written_at) {
    if (sequence == 0 || sequence <= found_.sequence) return;
    found_.sequence = sequence;
    if (written_at) {
      found_.records = records;
      found_.written_at = written_at;
    }
  }

  void collect_open() {
    for (std::size_t i = 0; i < found_.recents.size(); ++i) {
      for (const auto& [scope, slot] : found_.recents[i].slots) {
        if (!is_open_state(slot.state)) continue;
        if (is_in_newer_recent(scope, i) || is_damaged_since(scope, i, slot.offset)) continue;
        add_open(*found_.recents[i].segment, slot.offset, slot.payload_bytes, scope_prefix(scope));
      }
    }
    for (const SealedPtr& sealed : found_.sealed) {
      for (const IndexEntry& entry : sealed->index.open_entries()) {
        if (entry.is_open()) add_open_sealed(*sealed, entry);
      }
    }
  }

  bool is_in_newer_recent(const Scope& scope, std::size_t before) const {
    for (std::size_t i = 0; i < before; ++i) {
      if (found_.recents[i].slots.contains(scope)) return true;
    }
    return false;
  }

  // A newer state of this prefix stands there unreadable: nobody knows whether this one is still true.
  bool is_damaged_since(const Scope& scope, std::size_t number, std::uint32_t offset) const {
    const std::uint64_t prefix = scope_prefix(scope);
    for (std::size_t i = 0; i <= number && i < found_.recents.size(); ++i) {
      for (const IndexEntry& damage : found_.recents[i].damaged) {
        if (damage.prefix == prefix && (i < number || damage.offset > offset)) return true;
      }
    }
    return false;
  }

  // What cannot be read stays where it is: a lookup will say so (I5).
  void add_open(const Segment& segment, std::uint32_t offset, std::uint32_t payload_bytes,
                std::uint64_t prefix) {
    Result<Entry> entry = read_entry(segment, offset, payload_bytes, prefix);
    if (!entry) return;
    if (Record* record = std::get_if<Record>(&*entry)) keep_open(std::move(*record));
  }

  void keep_open(Record record) {
    if (role_of(record) != Role::event) {
      found_.open.push_back(std::move(record));
    } else if (const std::optional<PendingEvent> event = pending_event(record)) {
      found_.events.push_back(queued_ref(*event));
    }
  }

  void add_open_sealed(const Sealed& sealed, const IndexEntry& found) {
    Result<Entry> entry = read_entry(*sealed.segment, found.offset, found.payload_bytes, found.prefix);
    if (!entry) return;
    Record* record = std::get_if<Record>(&*entry);
    const std::size_t recents = found_.recents.size();
    if (!record || is_in_newer_recent(record->scope, recents) || is_damaged_since(record->scope, recents, 0))
      return;
    std::vector<SealedPtr> holders;
    found_.sealed.find(found.prefix, holders);
    for (const SealedPtr& newer : holders) {
      if (newer.get() == &sealed) break;
      const Result<std::vector<IndexEntry>> entries = entries_of(*newer, found.prefix);
      if (!entries) return;
      for (const IndexEntry& other : *entries) {
        Result<Entry> there = read_entry(*newer->segment, other.offset, other.payload_bytes, other.prefix);
        if (!there) return;  // it may be this record's newer state: unreadable, not open
        const Scope scope = std::holds_alternative<Record>(*there) ? std::get<Record>(*there).scope
                                                                   : std::get<Removed>(*there).scope;
        if (scope == record->scope) return;
      }
    }
    keep_open(std::move(*record));
  }

  FileOps& ops_;
  const std::string& folder_;
  const bool repair_;
  std::vector<FoundSegment> segments_;  // oldest first
  Recovered found_;
};

}  // namespace

Result<Recovered> recover(FileOps& ops, const std::string& folder, bool repair) {
  return Recovery(ops, folder, repair).run();
}

}  // namespace onceward::embedded
