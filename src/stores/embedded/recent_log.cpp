#include "stores/embedded/recent_log.hpp"

#include <sys/mman.h>

#include <cstring>

#include "base/assert.hpp"

namespace onceward::embedded {

RecentLog::RecentLog(std::size_t bytes) : bytes_(bytes) {
  ONCEWARD_ASSERT(bytes % block_bytes == 0);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped != MAP_FAILED) memory_ = static_cast<char*>(mapped);
}

RecentLog::~RecentLog() {
  if (memory_) ::munmap(memory_, bytes_);
}

bool RecentLog::follows(SegmentId segment, std::uint64_t offset) const {
  return !runs_.empty() && runs_.back().segment == segment && next_ == offset;
}

void RecentLog::forget(std::size_t first, std::size_t last) {
  for (Run& run : runs_) {
    const std::size_t run_first = run.place(run.begin);
    const std::size_t run_last = run.place(run.end);
    if (run_last <= first || run_first >= last) continue;
    // What is overwritten first is what was written first.
    run.begin = run_last <= last ? run.end : run.begin + (last - run_first);
  }
  while (runs_.size() > 1 && runs_.front().begin == runs_.front().end) runs_.pop_front();
}

// No more than a few are looked through for each batch.
void RecentLog::start_run(const Run& run) {
  if (!runs_.empty() && runs_.back().begin == runs_.back().end) runs_.pop_back();
  if (runs_.size() == runs_max) runs_.pop_front();
  runs_.push_back(run);
}

void RecentLog::begin(SegmentId segment, std::uint64_t offset, std::string_view lead) {
  ONCEWARD_ASSERT(lead.size() == offset - block_begin(offset));
  const std::lock_guard lock(mutex_);
  std::size_t at = 0;
  if (!runs_.empty()) at = static_cast<std::size_t>(block_end(runs_.back().place(runs_.back().end)));
  if (at + block_bytes > bytes_) at = 0;
  forget(at, at + block_bytes);
  lead.copy(memory_ + at, lead.size());
  start_run({segment, offset, offset, block_begin(offset), at});
  next_ = offset;
}

std::span<const char> RecentLog::put(std::string_view bytes) {
  ONCEWARD_ASSERT(!runs_.empty());
  ONCEWARD_ASSERT(bytes.size() <= largest());
  Run* run = &runs_.back();
  const std::uint64_t first_block = block_begin(next_);
  const std::uint64_t end = block_end(next_ + bytes.size());
  const std::lock_guard lock(mutex_);
  if (run->place(end) > bytes_) {
    // At the memory's end: goes on at its beginning, with what its first block has already.
    const std::size_t lead = run->place(first_block);
    const auto lead_bytes = static_cast<std::size_t>(next_ - first_block);
    const Run from_here{run->segment, next_, next_, first_block, 0};
    forget(0, static_cast<std::size_t>(end - first_block));
    std::memmove(memory_, memory_ + lead, lead_bytes);
    start_run(from_here);
  } else {
    forget(run->place(next_), run->place(end));
  }
  run = &runs_.back();
  char* const to = memory_ + run->place(next_);
  std::memcpy(to, bytes.data(), bytes.size());
  std::memset(to + bytes.size(), 0, static_cast<std::size_t>(end - next_ - bytes.size()));
  put_bytes_ = bytes.size();
  return {memory_ + run->place(first_block), static_cast<std::size_t>(end - first_block)};
}

void RecentLog::show() {
  const std::lock_guard lock(mutex_);
  runs_.back().end = next_ + put_bytes_;
  next_ = aligned(next_ + put_bytes_);
}

bool RecentLog::read(SegmentId segment, std::uint64_t offset, std::span<char> to) const {
  const std::lock_guard lock(mutex_);
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (run->segment != segment || offset < run->begin || offset + to.size() > run->end) continue;
    std::memcpy(to.data(), memory_ + run->place(offset), to.size());
    return true;
  }
  return false;
}

}  // namespace onceward::embedded
