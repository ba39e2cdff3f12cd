#include "stores/embedded/store_impl.hpp"

#include <algorithm>

namespace onceward::embedded {

StoreImpl::StoreImpl(const EmbeddedOptions& options, FileOps& ops, Entered entered, Recovered recovered,
                     LogPosition position)
    : ops_(ops),
      folder_(options.dir),
      durability_(options.durability),
      entered_(std::move(entered)),
      time_(*options.clock, recovered.written_at),
      supply_(ops, options.dir, options.segment_bytes, options.durability == Durability::disk),
      writer_(*this, ops, supply_, options.dir, std::move(position), options.durability == Durability::disk,
              options.segment_bytes, [this] { return time_.now(); }) {
  adopt(std::move(recovered));
  supply_.start();
  supply_.run([this] { group_segments(); });
  writer_.start();
  house_ = std::thread([this] { keep_house(); });
}

// The order matters: housekeeping waits for the writer, the writer waits for the supply.
StoreImpl::~StoreImpl() {
  {
    const std::lock_guard lock(house_mutex_);
    house_closing_ = true;
    house_wake_.notify_all();
  }
  house_.join();
  writer_.close();
  supply_.stop();
}

void StoreImpl::in_background(std::function<void()> job) {
  const std::lock_guard lock(house_mutex_);
  house_jobs_.push_back(std::move(job));
  house_wake_.notify_all();
}

void StoreImpl::keep_house() {
  std::unique_lock lock(house_mutex_);
  for (;;) {
    house_wake_.wait(lock, [this] { return house_closing_ || !house_jobs_.empty(); });
    if (house_jobs_.empty()) return;
    const std::function<void()> job = std::move(house_jobs_.front());
    house_jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

bool StoreImpl::stats(Reply<StoreStats>& reply) {
  in_background([this, &reply] {
    reply.value = stats_now();
    reply.next = nullptr;
    reply.executor->post(&reply);
  });
  return false;
}

StoreStats StoreImpl::stats_now() {
  const Timestamp now = time_.now();
  StoreStats stats;
  stats.records = writer_.records();
  Timestamp oldest_due = now;
  std::vector<SegmentPtr> recents;
  for (const Shard& shard : shards_) {
    {
      const std::lock_guard lock(shard.mutex);
      shard.for_each_open([&](const Scope&, const Record& record) {
        stats.open_records += role_of(record) == Role::record ? 1 : 0;
      });
      for (const Recent& recent : shard.recents) {
        if (&shard == &shards_.front()) recents.push_back(recent.segment);
      }
    }
    shard.look_through_recents([&](const Recent& recent) { return recent.first_expiry <= now; },
                               [&](const Recent&, const Scope&, const Slot& slot) {
                                 if (slot.state != removed_state)
                                   oldest_due = std::min(oldest_due, slot.gone_at);
                                 return true;
                               });
  }
  for (const SealedPtr& sealed : *sealed_list()) {
    const IndexSummary& summary = sealed->index.summary();
    stats.bytes += summary.data_end + sealed->index.file_bytes();
    if (summary.last_gone_at > Timestamp{}) oldest_due = std::min(oldest_due, summary.last_gone_at);
  }
  for (const SegmentPtr& segment : recents) {
    const Result<std::uint64_t> size = segment->file.size();
    if (size) stats.bytes += *size;
  }
  stats.purge_lag = now - oldest_due;
  return stats;
}

Health StoreImpl::health() const {
  Health health;
  health.durability = durability_;
  {
    const std::lock_guard lock(health_mutex_);
    health.ok = stopped_message_.empty();
    health.message = stopped_message_;
  }
  health.takes_claims = health.ok && !supply_.short_of_room();
  if (health.ok && !health.takes_claims) health.message = "no room on the disk for new claims";
  health.purges = time_.may_purge();
  if (!health.purges && health.message.empty()) health.message = "the clock has jumped: purging pauses";
  if (entered_.marker_was_damaged && health.message.empty())
    health.message = "onceward.store was damaged and has been written again";
  return health;
}

LogFigures StoreImpl::figures() const {
  LogFigures figures;
  figures.bytes_written = writer_.bytes_written();
  figures.batches = writer_.batches();
  const std::shared_ptr<const SealedList> sealed = sealed_list();
  figures.segments = sealed->size() + 1;
  figures.spare_ready = supply_.ready();
  figures.filter_bytes = sealed->filter_bytes();
  figures.filters = sealed->filters();
  return figures;
}

}  // namespace onceward::embedded
