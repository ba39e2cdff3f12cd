#include "stores/embedded/log_writer.hpp"

#include <algorithm>
#include <utility>

namespace onceward::embedded {

LogWriter::LogWriter(Client& client, FileOps& ops, SegmentSupply& supply, std::string folder,
                     LogPosition position, bool synced, std::uint64_t segment_bytes,
                     std::function<Timestamp()> now)
    : client_(client),
      ops_(ops),
      supply_(supply),
      folder_(std::move(folder)),
      synced_(synced),
      segment_bytes_(segment_bytes),
      now_(std::move(now)),
      at_(std::move(position)),
      blocks_(ops, synced),
      records_(at_.records),
      end_shown_(at_.end) {
  blocks_.begin(*at_.segment);
}

LogWriter::~LogWriter() { close(); }

std::uint64_t LogWriter::room() const { return at_.capacity > at_.end ? at_.capacity - at_.end : 0; }

// Claims may use the active segment down to its half, or while a spare stands ready: what is left then is for
// the outcomes.
bool LogWriter::claims_have_room() const {
  return room() >= std::min(segment_bytes_, at_.capacity) / 2 || supply_.ready();
}

void LogWriter::commit(Write* list) {
  if (!stopped_ && !claims_have_room()) {
    if (const Result<Done> there = supply_.wait(); !there) list = refuse_claims(list, there.error());
  }
  while (list) {
    if (stopped_) {
      client_.failed(list, *stopped_);
      return;
    }
    if (Write* chunk = take_fitting(list)) {
      if (write_batch(chunk, false)) continue;
      if (list) client_.failed(list, Error{Errc::unavailable, "the store has stopped after a failed write"});
      try_resume();
      return;
    }
    const Result<Done> rolled = roll(list->all_bytes());
    if (rolled || stopped_) continue;
    Write* first = list;
    list = list->next;
    first->next = nullptr;
    client_.failed(first, Error{Errc::refused, "no room for the record: " + rolled.error().message});
  }
}

Write* LogWriter::refuse_claims(Write* list, const Error& why) {
  Write* kept = nullptr;
  Write** kept_end = &kept;
  Write* refused = nullptr;
  Write** refused_end = &refused;
  while (list) {
    Write* write = list;
    list = list->next;
    write->next = nullptr;
    Write**& end = write->gives_way ? refused_end : kept_end;
    *end = write;
    end = &write->next;
  }
  if (refused) client_.failed(refused, Error{Errc::refused, "no room for new claims: " + why.message});
  return kept;
}

// Takes off the front of `list` what goes into one batch; nothing when not even the first fits.
Write* LogWriter::take_fitting(Write*& list) {
  const std::uint64_t most =
      std::min(room(), std::max<std::uint64_t>(batch_bytes_max, list->all_bytes() + 64));
  std::uint64_t total = batch_header_bytes;
  Write* first = nullptr;
  Write* last = nullptr;
  while (list && aligned(total + list->all_bytes()) <= most) {
    total += list->all_bytes();
    if (!first) first = list;
    last = list;
    list = list->next;
  }
  if (last) last->next = nullptr;
  return first;
}

void LogWriter::prepare(Write* chunk, bool closing) {
  buffer_.assign(batch_header_bytes, '\0');
  batch_ = {};
  batch_.first = chunk;
  batch_.removed = removed_unwritten_.load();
  BatchHeader& header = batch_.header;
  std::int64_t records = static_cast<std::int64_t>(at_.records) - batch_.removed;
  const auto append = [&](Write& write) {
    write.slot.offset = static_cast<std::uint32_t>(at_.end + buffer_.size());
    buffer_ += write.bytes;
    records += write.records_change;
    batch_.plain = batch_.plain && write.role == Role::record;
    ++header.count;
  };
  for (Write* write = chunk; write; write = write->next) {
    append(*write);
    for (const std::unique_ptr<Write>& part : write->parts) append(*part);
  }
  header.payload_bytes = static_cast<std::uint32_t>(buffer_.size() - batch_header_bytes);
  header.sequence = at_.sequence + 1;
  header.written_at = now_();
  header.records = static_cast<std::uint64_t>(std::max<std::int64_t>(records, 0));
  header.segment = at_.segment->id();
  header.closing = closing;
  encode_batch_header(header, buffer_.data());
}

bool LogWriter::begin_batch(Write* chunk, OwnRing& own) {
  prepare(chunk, false);
  return blocks_.begin_write(own.ring(), buffer_, at_.end);
}

bool LogWriter::write_batch(Write* chunk, bool closing) {
  prepare(chunk, closing);
  Result<Done> written = batch_.plain ? Result<Done>(Done{}) : leave_plain_format();
  if (written) written = blocks_.write(*at_.segment, buffer_, at_.end);
  return finish(written);
}

bool LogWriter::finish(const Result<Done>& written) {
  Write* const chunk = std::exchange(batch_.first, nullptr);
  if (!written) {
    stop(written.error());
    if (chunk) client_.failed(chunk, *stopped_);
    return false;
  }
  removed_unwritten_ -= batch_.removed;
  at_.end = aligned(at_.end + buffer_.size());
  at_.sequence = batch_.header.sequence;
  at_.records = batch_.header.records;
  written_at_ = batch_.header.written_at;
  records_.store(at_.records, std::memory_order_relaxed);
  end_shown_.store(at_.end, std::memory_order_relaxed);
  sequence_shown_.store(at_.sequence, std::memory_order_relaxed);
  bytes_written_.fetch_add(buffer_.size(), std::memory_order_relaxed);
  if (buffer_.capacity() > 2 * batch_bytes_max) std::string().swap(buffer_);
  if (chunk) client_.committed(chunk);
  return true;
}

// Within one sector, which a disk writes whole or not at all; on disk not later than the batch that needs it.
Result<Done> LogWriter::leave_plain_format() {
  SegmentHeader& header = at_.segment->header;
  if (header.format == format_version) return Done{};
  header.format = format_version;
  return blocks_.write_header(*at_.segment);
}

void LogWriter::stop(const Error& why) {
  stopped_ = Error{Errc::unavailable, "the store has stopped: " + why.message};
  client_.stopped(*stopped_);
}

void LogWriter::try_resume() {
  if (!stopped_) return;
  supply_.retry();
  if (!roll(0)) return;
  stopped_.reset();
  client_.resumed();
}

Result<Done> LogWriter::roll(std::uint64_t bytes_needed) {
  SegmentHeader header;
  header.id = at_.segment->id() + 1;
  header.created_at = now_();
  header.unsynced = !synced_;
  header.previous_id = at_.segment->id();
  header.previous_end = at_.end;
  const std::uint64_t wanted = aligned(bytes_needed) + segment_header_bytes + 2 * batch_header_bytes;
  std::uint64_t capacity = segment_bytes_;
  Result<File> file = Error{};
  if (wanted <= segment_bytes_) {
    file = supply_.take();
  } else {  // larger than a segment: it gets one of its own
    capacity = RecentLog::block_end(wanted);
    file = SegmentSupply::make(ops_, spare_path(folder_, 0), capacity, 0);
  }
  if (!file) return file.error();
  Result<SegmentPtr> fresh = begin_segment(ops_, folder_, std::move(*file), header, synced_);
  if (!fresh) {
    // Its name may be on disk, with a header that says where this segment ends. Nothing may be added
    // here any more, until another attempt has replaced it.
    if (!stopped_) stop(fresh.error());
    return fresh.error();
  }
  const IndexSummary old{at_.segment->id(), at_.end, at_.sequence, at_.records, written_at_, 0, {}, 0};
  at_.segment = std::move(*fresh);
  blocks_.begin(*at_.segment);
  at_.end = segment_header_bytes;
  at_.capacity = capacity;
  end_shown_.store(at_.end, std::memory_order_relaxed);
  client_.rolled(at_.segment, old);
  return Done{};
}

Result<SegmentPtr> LogWriter::begin_segment(FileOps& ops, const std::string& folder, File file,
                                            const SegmentHeader& header, bool synced) {
  if (Result<Done> written = file.write(encode_segment_header(header), 0); !written) return written.error();
  if (synced) {
    if (Result<Done> done = file.sync(); !done) return done.error();
  }
  const std::string path = segment_path(folder, header.id);
  if (const int result = ops.rename(file.path(), path); result < 0)
    return file_error("rename " + file.path(), result);
  file.moved_to(path);
  if (synced) {
    if (const int result = ops.sync_folder(folder); result < 0) return file_error("sync " + folder, result);
  }
  return std::make_shared<Segment>(header, std::move(file));
}

}  // namespace onceward::embedded
