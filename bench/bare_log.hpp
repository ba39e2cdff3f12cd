// The bare log that the embedded store is measured against: an append-only log with a checksum per record,
// segments zeroed ahead of time, group commit by the worker's rounds, and a hash index of every key. It
// writes the same number of bytes in the same batches with the same syncs, and has nothing else: no states,
// no leases, no memory of what is open, no sealing, no purge, no recovery.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/pairs.hpp"
#include "core/crc32c.hpp"
#include "core/scope.hpp"

namespace onceward::bench {

// Key → where its last record is: 16 bytes a cell, open addressing. A hit is proven by the log.
class HashIndex {
 public:
  explicit HashIndex(std::size_t keys) : cells_(16) { reserve(keys); }
  void reserve(std::size_t keys) {
    while (keys * 4 > cells_.size() * 3) grow();
  }
  bool contains(const Scope& key) const { return cells_[find(scope_prefix(key))].at != 0; }
  void set(const Scope& key, std::uint64_t at) {
    reserve(used_ + 1);
    Cell& cell = cells_[find(scope_prefix(key))];
    if (cell.at == 0) ++used_;
    cell = {scope_prefix(key), at};
  }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::uint64_t at = 0;
  };
  std::size_t find(std::uint64_t key) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ull) >> 20) & mask;
    while (cells_[at].at != 0 && cells_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Cell> old(cells_.size() * 2);
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.at != 0) cells_[find(cell.key)] = cell;
    }
  }
  std::vector<Cell> cells_;
  std::size_t used_ = 0;
};

class BareLog {
 public:
  struct Write {
    Write* next = nullptr;
    Scope key;
    std::uint64_t at = 0;
    Completion* reply = nullptr;
  };

  BareLog(std::string folder, bool synced, std::uint64_t records)
      : folder_(std::move(folder)), synced_(synced), index_(records + 1) {
    for (std::uint64_t i = 1; i <= records; ++i) index_.set(scope_number(i), i);
    file_ = make_segment(0);
    next_file_ = make_segment(1);
    writer_ = std::thread([this] { write_on(); });
    preparer_ = std::thread([this] { prepare(); });
  }
  ~BareLog() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      wake_.notify_all();
      wake_preparer_.notify_all();
    }
    writer_.join();
    preparer_.join();
    ::close(file_);
    if (next_file_ >= 0) ::close(next_file_);
  }

  bool contains(const Scope& key) const {
    const std::lock_guard lock(index_mutex_);
    return index_.contains(key);
  }

  // Appends a record: checksum, length, key, bytes. The worker's thread; the writer hears of it at the end of
  // the worker's round, as the store's does.
  void submit(Write* write, std::string_view bytes) {
    worker->defer(round_end_);
    write->next = nullptr;
    write->at = filling_.size();
    filling_.append(8, '\0');
    filling_.append(reinterpret_cast<const char*>(write->key.data.data()), write->key.data.size());
    filling_.append(bytes);
    const auto length = static_cast<std::uint32_t>(filling_.size() - write->at);
    std::memcpy(filling_.data() + write->at + 4, &length, 4);
    const std::uint32_t crc = crc32c(std::string_view(filling_).substr(write->at + 4));
    std::memcpy(filling_.data() + write->at, &crc, 4);
    (first_ ? last_->next : first_) = write;
    last_ = write;
  }
  static constexpr std::size_t record_head_bytes = 8 + 32;

  std::uint64_t bytes_written = 0;  // the writer's; read when nothing is in flight
  std::uint64_t batches = 0;
  Worker* worker = nullptr;

 private:
  static constexpr std::size_t segment_bytes = 64 << 20;
  static constexpr std::size_t batch_header_bytes = 48;

  struct RoundEnd : Deferred {
    explicit RoundEnd(BareLog& of) : log(of) {
      run = [](Deferred* self) { static_cast<RoundEnd*>(self)->log.hand_over(); };
    }
    BareLog& log;
  };
  void hand_over() {
    const std::lock_guard lock(mutex_);
    if (ready_.empty()) ready_.resize(batch_header_bytes);
    for (Write* write = first_; write; write = write->next) write->at += ready_.size();
    ready_ += filling_;
    filling_.clear();
    (ready_first_ ? ready_last_->next : ready_first_) = std::exchange(first_, nullptr);
    ready_last_ = last_;
    wake_.notify_one();
  }

  int make_segment(std::uint64_t number) {
    const int file =
        ::open((folder_ + "/bare." + std::to_string(number)).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ::posix_fallocate(file, 0, segment_bytes) != 0) std::exit(1);
    const std::string zeros(1 << 20, '\0');
    for (std::size_t at = 0; synced_ && at < segment_bytes; at += zeros.size()) {
      if (::pwrite(file, zeros.data(), zeros.size(), static_cast<off_t>(at)) < 0) std::exit(1);
    }
    if (synced_) ::fdatasync(file);
    return file;
  }

  void prepare() {
    std::unique_lock lock(mutex_);
    for (std::uint64_t number = 2;; ++number) {
      wake_preparer_.wait(lock, [this] { return closing_ || next_file_ < 0; });
      if (closing_) return;
      lock.unlock();
      const int made = make_segment(number);
      lock.lock();
      next_file_ = made;
      wake_.notify_all();
    }
  }

  void roll(std::unique_lock<std::mutex>& lock) {
    wake_.wait(lock, [this] { return next_file_ >= 0; });
    ::close(std::exchange(file_, std::exchange(next_file_, -1)));
    wake_preparer_.notify_one();
    at_ = 0;
    base_ += segment_bytes;
  }

  void write_on() {
    std::string buffer;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return closing_ || ready_first_; });
      if (!ready_first_) return;
      Write* list = std::exchange(ready_first_, nullptr);
      buffer.clear();
      buffer.swap(ready_);
      if (at_ + buffer.size() > segment_bytes) roll(lock);
      lock.unlock();
      const std::uint32_t crc = crc32c(std::string_view(buffer).substr(4, batch_header_bytes - 4));
      std::memcpy(buffer.data(), &crc, 4);
      if (::pwrite(file_, buffer.data(), buffer.size(), static_cast<off_t>(at_)) < 0) std::exit(1);
      if (synced_) ::fdatasync(file_);
      bytes_written += buffer.size();
      ++batches;
      worker->post(index(list));
      at_ += buffer.size();
      lock.lock();
    }
  }

  Completion* index(Write* list) {
    Completion* replies = nullptr;
    Completion** end = &replies;
    const std::lock_guard lock(index_mutex_);
    for (; list; list = list->next) {
      index_.set(list->key, base_ + at_ + list->at);
      *end = list->reply;
      end = &list->reply->next;
    }
    *end = nullptr;
    return replies;
  }

  const std::string folder_;
  const bool synced_;
  mutable std::mutex index_mutex_;
  HashIndex index_;
  int file_ = -1;
  std::uint64_t at_ = 0;
  std::uint64_t base_ = 1ull << 40;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable wake_preparer_;
  int next_file_ = -1;
  std::string ready_;
  Write* ready_first_ = nullptr;
  Write* ready_last_ = nullptr;
  bool closing_ = false;
  // The worker's thread: its round's records.
  RoundEnd round_end_{*this};
  std::string filling_;
  Write* first_ = nullptr;
  Write* last_ = nullptr;
  std::thread writer_;
  std::thread preparer_;
};

// One of the pairs in flight against the bare log.
class BarePair {
 public:
  BarePair(BareLog& log, Job& job, std::size_t claim_bytes, std::size_t outcome_bytes)
      : log_(log),
        job_(job),
        claim_(claim_bytes - BareLog::record_head_bytes, 'c'),
        outcome_(outcome_bytes - BareLog::record_head_bytes, 'o') {
    reply_.self = this;
    reply_.run = [](Completion* c) { static_cast<Replied*>(c)->self->written(); };
    write_.reply = &reply_;
  }
  void start() {
    if (!job_.more()) return;
    ++job_.in_flight;
    if (job_.counted) --job_.pairs_left;
    started_ = SteadyClock::now();
    claimed_ = false;
    write_.key = scope_number(++job_.next_key);
    if (log_.contains(write_.key)) std::exit(1);
    log_.submit(&write_, claim_);
  }

 private:
  struct Replied : Completion {
    BarePair* self = nullptr;
  };
  void written() {
    if (!claimed_) {
      claimed_ = true;
      if (!log_.contains(write_.key)) std::exit(1);
      log_.submit(&write_, outcome_);
      return;
    }
    job_.finished(started_);
    start();
  }

  BareLog& log_;
  Job& job_;
  const std::string claim_;
  const std::string outcome_;
  Replied reply_;
  BareLog::Write write_;
  bool claimed_ = false;
  SteadyClock::time_point started_;
};

}  // namespace onceward::bench
