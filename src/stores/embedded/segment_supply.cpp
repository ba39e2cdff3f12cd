#include "stores/embedded/segment_supply.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace onceward::embedded {
namespace {

constexpr std::size_t zero_chunk = 1 << 20;
constexpr auto retry_every = std::chrono::milliseconds(100);

// Around the system's cache where that is possible: nobody reads zeros, and memory for them costs more than
// writing them.
Result<Done> zero(FileOps& ops, File& file, std::uint64_t bytes) {
  // Never written; not const, so that the program's file does not hold a mebibyte of zeros.
  alignas(RecentLog::block_bytes) static std::array<char, zero_chunk> zeros{};
  if (bytes == 0) return Done{};
  std::uint64_t at = 0;
  const std::uint64_t whole = RecentLog::block_begin(bytes);
  if (Result<File> direct = File::open(ops, file.path(), O_RDWR | O_DIRECT); direct) {
    for (std::uint64_t count = 0; at < whole; at += count) {
      count = std::min<std::uint64_t>(zeros.size(), whole - at);
      if (!direct->write({zeros.data(), count}, at)) break;
    }
  }
  for (std::uint64_t count = 0; at < bytes; at += count) {
    count = std::min<std::uint64_t>(zeros.size(), bytes - at);
    if (Result<Done> written = file.write_gently({zeros.data(), count}, at); !written) return written;
  }
  return Done{};
}

}  // namespace

SegmentSupply::SegmentSupply(FileOps& ops, std::string folder, std::uint64_t segment_bytes, bool zeroed)
    : ops_(ops), folder_(std::move(folder)), segment_bytes_(segment_bytes), zeroed_(zeroed) {}

SegmentSupply::~SegmentSupply() { stop(); }

void SegmentSupply::start() {
  thread_ = std::thread([this] { loop(); });
}

void SegmentSupply::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool SegmentSupply::ready() const {
  const std::lock_guard lock(mutex_);
  return spare_.has_value();
}

Result<Done> SegmentSupply::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return spare_ || failure_ || stopping_; });
  if (spare_) return Done{};
  return failure_.value_or(Error{Errc::unavailable, "the store is closing"});
}

Result<File> SegmentSupply::take() {
  if (Result<Done> there = wait(); !there) return there.error();
  const std::lock_guard lock(mutex_);
  File file = std::move(*spare_);
  spare_.reset();
  wake_.notify_all();
  return file;
}

void SegmentSupply::retry() {
  const std::lock_guard lock(mutex_);
  retry_ = true;
  wake_.notify_all();
}

void SegmentSupply::run(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  wake_.notify_all();
}

bool SegmentSupply::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void SegmentSupply::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!spare_ && (!failure_ || retry_) && !stopping_) {
      make_spare(lock);
      continue;
    }
    if (!jobs_.empty()) {
      std::vector<std::function<void()>> jobs;
      jobs.swap(jobs_);
      lock.unlock();
      for (const std::function<void()>& job : jobs) job();
      lock.lock();
      continue;
    }
    if (stopping_) return;
    const auto awaken = [this] { return stopping_ || retry_ || !jobs_.empty() || (!spare_ && !failure_); };
    if (failure_) {
      if (!wake_.wait_for(lock, retry_every, awaken)) retry_ = true;
    } else {
      wake_.wait(lock, awaken);
      if (spare_) retry_ = false;
    }
  }
}

void SegmentSupply::make_spare(std::unique_lock<std::mutex>& lock) {
  retry_ = false;
  const std::string path = spare_path(folder_, ++made_);
  lock.unlock();
  Result<File> made = make(ops_, path, segment_bytes_, zeroed_ ? segment_bytes_ : 0);
  if (!made) ops_.unlink(path);
  lock.lock();
  if (made) {
    spare_ = std::move(*made);
    failure_.reset();
  } else {
    failure_ = made.error();
  }
  short_of_room_.store(failure_.has_value(), std::memory_order_relaxed);
  changed_.notify_all();
}

Result<File> SegmentSupply::make(FileOps& ops, const std::string& path, std::uint64_t bytes,
                                 std::uint64_t zeroed_bytes) {
  Result<File> file = File::open(ops, path, O_RDWR | O_CREAT | O_TRUNC);
  if (!file) return file;
  if (Result<Done> allocated = file->allocate(bytes); !allocated) return allocated.error();
  // Blocks that were written once need no change of the file's metadata at a sync: a third faster.
  if (Result<Done> zeroed = zero(ops, *file, zeroed_bytes); !zeroed) return zeroed.error();
  if (zeroed_bytes > 0) {
    if (Result<Done> synced = file->sync(); !synced) return synced.error();
  }
  return file;
}

}  // namespace onceward::embedded
