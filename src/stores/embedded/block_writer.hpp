// BlockWriter: puts the log's batches on disk, each with one write. Where the kernel and the file system can,
// that write goes around the system's cache in whole blocks and is on disk when it ends, and what was written
// is remembered for readers (recent_log.hpp); elsewhere it is a write and a sync. Without syncs it only
// hands the bytes to the system. Owned by the log's writer; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "stores/embedded/segment.hpp"

namespace onceward::embedded {

class BlockWriter {
 public:
  BlockWriter(FileOps& ops, bool synced);

  // From now on this segment is written.
  void begin(Segment& segment);
  Result<Done> write(Segment& segment, std::string_view batch, std::uint64_t offset);

  // The same without waiting, on a ring of the calling thread. Whether that can be done with so many bytes:
  bool can_begin(const Segment& segment, std::uint64_t bytes, std::uint64_t offset) const;
  // False: the kernel did not take it, and nothing was written.
  bool begin_write(IoRing& ring, std::string_view batch, std::uint64_t offset);
  // What the kernel said of the write that was begun. It is done, unless this says false: then end_write,
  // which may wait for the disk, makes of it what there is to be made.
  bool ended_well(std::int64_t result);
  Result<Done> end_write(Segment& segment, std::string_view batch, std::uint64_t offset, std::int64_t result);

  // The segment's header, which stands before all batches; on disk with the batch that is written next.
  Result<Done> write_header(Segment& segment);

 private:
  Result<Done> write_through_cache(Segment& segment, std::string_view batch, std::uint64_t offset);
  Result<Done> follow(const Segment& segment, std::uint64_t offset);
  Result<Done> settle(Segment& segment, std::string_view batch, std::uint64_t offset,
                      const Result<bool>& written);

  FileOps& ops_;
  const bool synced_;
  std::shared_ptr<RecentLog> recent_;  // none: blocks are not written around the cache
  std::optional<File> direct_;
  std::span<const char> blocks_;  // on their way
  bool has_failed_ = false;       // the next segment is then written through the cache, which may work
  bool is_stale_ = true;          // what is remembered of the current block may not be what is in the file
};

}  // namespace onceward::embedded
