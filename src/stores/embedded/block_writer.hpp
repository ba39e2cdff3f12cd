// BlockWriter: puts the log's batches on disk, each with one write. Where the kernel and the file system can,
// that write goes around the system's cache in whole blocks and is on disk when it ends, and what was written
// is remembered for readers (recent_log.hpp); elsewhere it is a write and a sync. Without syncs it only
// hands the bytes to the system. Owned by the log's writer; its thread only.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "stores/embedded/segment.hpp"

namespace onceward::embedded {

class BlockWriter {
 public:
  BlockWriter(FileOps& ops, bool synced);

  // From now on this segment is written.
  void begin(Segment& segment);
  Result<Done> write(Segment& segment, std::string_view batch, std::uint64_t offset);
  // The segment's header, which stands before all batches; on disk with the batch that is written next.
  Result<Done> write_header(Segment& segment);

 private:
  Result<Done> write_through_cache(Segment& segment, std::string_view batch, std::uint64_t offset);
  Result<Done> follow(const Segment& segment, std::uint64_t offset);

  FileOps& ops_;
  const bool synced_;
  std::shared_ptr<RecentLog> recent_;  // none: blocks are not written around the cache
  std::optional<File> direct_;
  bool has_failed_ = false;  // the next segment is then written through the cache, which may work
  bool is_stale_ = true;     // what is remembered of the current block may not be what is in the file
};

}  // namespace onceward::embedded
