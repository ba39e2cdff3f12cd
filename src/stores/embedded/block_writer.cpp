#include "stores/embedded/block_writer.hpp"

#include <utility>

namespace onceward::embedded {

BlockWriter::BlockWriter(FileOps& ops, bool synced) : ops_(ops), synced_(synced) {
  if (!synced) return;
  recent_ = std::make_shared<RecentLog>();
  if (!recent_->is_there()) recent_.reset();
}

void BlockWriter::begin(Segment& segment) {
  direct_.reset();
  is_stale_ = true;
  if (!recent_ || std::exchange(has_failed_, false)) return;
  Result<File> file = File::open_direct(ops_, segment.file.path());
  // A write that is under way when this process is killed arrives all the same. It holds the file and so this
  // lock, for which the next owner of the folder waits (recovery.cpp).
  if (!file || !file->lock()) return;
  direct_ = std::move(*file);
  segment.recent = recent_;
}

Result<Done> BlockWriter::write(Segment& segment, std::string_view batch, std::uint64_t offset) {
  if (!direct_ || batch.size() > recent_->largest()) return write_through_cache(segment, batch, offset);
  if (is_stale_ || !recent_->follows(segment.id(), offset)) {
    if (Result<Done> ready = follow(segment, offset); !ready) return ready;
  }
  blocks_ = recent_->put(batch);
  return settle(segment, batch, offset, direct_->write_synced(blocks_, RecentLog::block_begin(offset)));
}

Result<Done> BlockWriter::settle(Segment& segment, std::string_view batch, std::uint64_t offset,
                                 const Result<bool>& written) {
  if (!written) {
    has_failed_ = true;
    return written.error();
  }
  if (!*written) {
    direct_.reset();
    return write_through_cache(segment, batch, offset);
  }
  recent_->show();
  return Done{};
}

bool BlockWriter::can_begin(const Segment& segment, std::uint64_t bytes, std::uint64_t offset) const {
  return direct_ && !is_stale_ && bytes <= recent_->largest() && recent_->follows(segment.id(), offset);
}

bool BlockWriter::begin_write(IoRing& ring, std::string_view batch, std::uint64_t offset) {
  blocks_ = recent_->put(batch);
  return direct_->begin_synced(ring, blocks_, RecentLog::block_begin(offset));
}

bool BlockWriter::ended_well(std::int64_t result) {
  if (result < 0 || static_cast<std::uint64_t>(result) != blocks_.size()) return false;
  recent_->show();
  return true;
}

Result<Done> BlockWriter::end_write(Segment& segment, std::string_view batch, std::uint64_t offset,
                                    std::int64_t result) {
  return settle(segment, batch, offset, direct_->end_synced(blocks_, RecentLog::block_begin(offset), result));
}

// The block that the next batch begins in has bytes already, which are written again with it.
Result<Done> BlockWriter::follow(const Segment& segment, std::uint64_t offset) {
  const std::uint64_t begin = RecentLog::block_begin(offset);
  const Result<std::string> lead = segment.file.read(static_cast<std::size_t>(offset - begin), begin);
  if (!lead) return lead.error();
  recent_->begin(segment.id(), offset, *lead);
  is_stale_ = false;
  return Done{};
}

Result<Done> BlockWriter::write_through_cache(Segment& segment, std::string_view batch,
                                              std::uint64_t offset) {
  is_stale_ = true;
  Result<Done> written = segment.file.write(batch, offset);
  if (written && synced_) written = segment.file.sync();
  return written;
}

Result<Done> BlockWriter::write_header(Segment& segment) {
  is_stale_ = true;
  Result<Done> written = segment.file.write(encode_segment_header(segment.header), 0);
  // The next write may go around the cache, and would not take this along.
  if (written && direct_) written = segment.file.sync();
  return written;
}

}  // namespace onceward::embedded
