// For tests: file operations that fail when told to. Any thread.
#pragma once

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <vector>

#include "stores/embedded/file_ops.hpp"

namespace onceward::embedded {

class FaultyFileOps final : public FileOps {
 public:
  enum class Kind { error, short_write, lost_sync };

  // The n-th change of the disk from now on (1: the next) fails, once.
  void fail_at(std::uint64_t n, Kind kind, int error = EIO) {
    const std::lock_guard lock(mutex_);
    fail_at_ = changes_ + n;
    kind_ = kind;
    error_ = error;
  }
  void heal() {
    const std::lock_guard lock(mutex_);
    fail_at_ = 0;
  }
  // Allocating fails as on a full disk, until healed.
  void fill_disk(bool full) {
    const std::lock_guard lock(mutex_);
    full_ = full;
  }
  // Every sync fails until healed.
  void break_syncs(bool broken) {
    const std::lock_guard lock(mutex_);
    broken_ = broken;
  }
  // As on a file system that is not known, and as on one that takes the file and not the write.
  void go_without_direct(bool without) { without_direct_ = without; }
  void refuse_direct(bool refuse) { refuses_direct_ = refuse; }
  // The kernel takes no writes that are not waited for.
  void refuse_rings(bool refuses) { refuses_rings_ = refuses; }
  std::uint64_t begun() const {  // writes that were not waited for
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  std::uint64_t changes() const {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  bool fired() const {
    const std::lock_guard lock(mutex_);
    return fail_at_ != 0 && changes_ >= fail_at_;
  }

  int open(const std::string& path, int flags) override {
    if (const int error = due(); error != 0) return -error;
    return FileOps::open(path, flags);
  }
  std::int64_t pwrite(int file, const char* from, std::size_t count, std::uint64_t offset) override {
    const int error = due();
    if (error != 0 && kind() == Kind::short_write && count > 1) {
      note(file, offset, count / 2);
      return FileOps::pwrite(file, from, count / 2, offset);
    }
    if (error != 0) return -error;
    note(file, offset, count);
    return FileOps::pwrite(file, from, count, offset);
  }
  int open_direct(const std::string& path) override {
    if (const int error = due(); error != 0) return -error;
    // Whatever the file system: nothing of what is written here is written around the cache.
    return without_direct_ ? -EOPNOTSUPP : FileOps::open(path, O_RDWR);
  }
  std::int64_t write_synced(int file, const char* from, std::size_t count, std::uint64_t offset) override {
    const int error = due();
    if (refuses_direct_) return -EINVAL;
    if (error != 0 && kind() == Kind::short_write && count > block) {
      return FileOps::pwrite(file, from, count / 2 / block * block, offset);
    }
    // Whether a write whose sync failed is on disk is not known: here it is not, and what stood there is.
    if (error != 0 || broken()) return -(error != 0 ? error : EIO);
    return FileOps::pwrite(file, from, count, offset);
  }
  // Of the kernel's queue only the way in which a write's end is told of is used, by a write of nothing.
  bool begin_synced(IoRing& ring, int file, const char* from, std::size_t count,
                    std::uint64_t offset) override {
    if (refuses_rings_ || !FileOps::begin_synced(ring, file, from, 0, offset)) return false;
    const std::int64_t result = write_synced(file, from, count, offset);
    const std::lock_guard lock(mutex_);
    ++begun_;
    result_ = result;
    return true;
  }
  std::optional<std::int64_t> end_synced(IoRing& ring, bool wait) override {
    const std::optional<std::int64_t> ended = FileOps::end_synced(ring, wait);
    const std::lock_guard lock(mutex_);
    return ended ? std::optional(result_) : std::nullopt;
  }
  int fdatasync(int file) override {
    const int error = due();
    if (error != 0 || broken()) {
      if (kind() == Kind::lost_sync) lose(file);
      return -(error != 0 ? error : EIO);
    }
    forget(file);
    return 0;  // no test of this cuts the power, and real syncs take long
  }
  int write_back(int, std::uint64_t, std::uint64_t) override { return -due(); }
  int fallocate(int file, std::uint64_t bytes) override {
    if (const int error = due(); error != 0) return -error;
    if (full()) return -ENOSPC;
    return FileOps::fallocate(file, bytes);
  }
  int truncate(int file, std::uint64_t bytes) override {
    if (const int error = due(); error != 0) return -error;
    return FileOps::truncate(file, bytes);
  }
  int rename(const std::string& from, const std::string& to) override {
    if (const int error = due(); error != 0) return -error;
    return FileOps::rename(from, to);
  }
  int unlink(const std::string& path) override {
    if (const int error = due(); error != 0) return -error;
    return FileOps::unlink(path);
  }
  int sync_folder(const std::string&) override {
    if (const int error = due(); error != 0) return -error;
    return 0;
  }
  void close(int file) override {
    forget(file);
    FileOps::close(file);
  }

 private:
  static constexpr std::size_t block = 4096;
  struct Range {
    std::uint64_t offset;
    std::size_t count;
  };

  int due() {
    const std::lock_guard lock(mutex_);
    ++changes_;
    return fail_at_ != 0 && changes_ == fail_at_ ? error_ : 0;
  }
  bool full() const {
    const std::lock_guard lock(mutex_);
    return full_;
  }
  bool broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
  }
  Kind kind() const {
    const std::lock_guard lock(mutex_);
    return kind_;
  }
  void note(int file, std::uint64_t offset, std::size_t count) {
    const std::lock_guard lock(mutex_);
    unsynced_[file].push_back({offset, count});
  }
  void forget(int file) {
    const std::lock_guard lock(mutex_);
    unsynced_.erase(file);
  }
  // What a failed sync can mean: the system reports the error once and drops the pages.
  void lose(int file) {
    const std::lock_guard lock(mutex_);
    for (const Range& range : unsynced_[file]) {
      const std::string zeros(range.count, '\0');
      FileOps::pwrite(file, zeros.data(), zeros.size(), range.offset);
    }
    unsynced_.erase(file);
  }

  mutable std::mutex mutex_;
  std::uint64_t changes_ = 0;
  std::uint64_t fail_at_ = 0;
  Kind kind_ = Kind::error;
  int error_ = EIO;
  std::atomic<bool> without_direct_ = false;
  std::atomic<bool> refuses_direct_ = false;
  std::atomic<bool> refuses_rings_ = false;
  std::uint64_t begun_ = 0;
  std::int64_t result_ = 0;  // of the one write that may be under way
  bool full_ = false;
  bool broken_ = false;
  std::map<int, std::vector<Range>> unsynced_;
};

}  // namespace onceward::embedded
