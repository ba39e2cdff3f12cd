// Looking into a store's folder without owning it: for `onceward store`. Changes nothing, and works beside
// a process that has the store open; what that process writes meanwhile may be seen or not.
#pragma once

#include <array>
#include <functional>

#include "stores/embedded/log_scan.hpp"
#include "stores/embedded/segment.hpp"

namespace onceward::embedded {

struct SegmentReport {
  SegmentId id = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t data_bytes = 0;
  bool sealed = false;         // it has an index file
  bool index_damaged = false;  // rebuilt when the store is opened next
  bool torn = false;           // an unfinished write at its end: cut when opened, or under way
  std::uint64_t entries = 0;
  std::uint64_t removals = 0;
  std::array<std::uint64_t, 8> by_state{};  // entries by State; old states of a record count too
  std::uint64_t marks = 0;                  // their entries, old ones too
  std::uint64_t events = 0;
  std::vector<std::uint64_t> damaged_at;  // records that cannot be read, by offset
  std::string lost;                       // damage that cannot be laid at any record's door
};

// Whether onceward.store cannot be read although the folder is a store's; it is written again when opened.
Result<bool> has_damaged_marker(FileOps& ops, const std::string& folder);

// Segments by their headers and index files, oldest first; reads no records.
Result<std::vector<SegmentReport>> inspect_folder(FileOps& ops, const std::string& folder);

// Reads and checks every byte. `progress` is told of bytes read and bytes in all.
Result<std::vector<SegmentReport>> verify_folder(
    FileOps& ops, const std::string& folder,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);

struct FolderStats {
  std::uint64_t records = 0;
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;
  std::array<std::uint64_t, 8> open_by_state{};
  std::uint64_t held_marks = 0;  // of records that are open; kept ones are not counted
  std::uint64_t events = 0;      // that wait to be sent or were set aside
  std::optional<Timestamp> written_at;
};
Result<FolderStats> folder_stats(FileOps& ops, const std::string& folder);

}  // namespace onceward::embedded
