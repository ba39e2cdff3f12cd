// RecentLog: the last bytes of the log, as they were written. The log goes to disk around the system's cache,
// so whoever wants to read what was just written (a retry, mostly) would have to wait for the disk. It
// is also where the writer puts a batch together: in whole blocks, at the places that they have in the file.
// Writing: whoever has the log's turn. Reading: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "stores/embedded/log_format.hpp"

namespace onceward::embedded {

class RecentLog {
 public:
  static constexpr std::size_t block_bytes = 4096;
  // Where the block that has this place begins, and where the last block of what ends there ends.
  static constexpr std::uint64_t block_begin(std::uint64_t at) { return at / block_bytes * block_bytes; }
  static constexpr std::uint64_t block_end(std::uint64_t at) { return block_begin(at + block_bytes - 1); }
  static constexpr std::size_t default_bytes = 32 << 20;  // taken as it is used

  explicit RecentLog(std::size_t bytes = default_bytes);  // a multiple of block_bytes
  ~RecentLog();
  RecentLog(const RecentLog&) = delete;
  RecentLog& operator=(const RecentLog&) = delete;

  bool is_there() const { return memory_ != nullptr; }
  std::size_t largest() const { return bytes_ / 4; }  // of a batch

  // Whether what is put at this place of the log would follow what was put before.
  bool follows(SegmentId segment, std::uint64_t offset) const;
  // Begins anew at this place; `lead` is what stands before it in its block.
  void begin(SegmentId segment, std::uint64_t offset, std::string_view lead);
  // At most `largest` bytes, there where begin or the last put ended. Returns the blocks that they are in,
  // with zeros behind them; nobody reads them before they are shown.
  std::span<const char> put(std::string_view bytes);
  // What was put is on disk; the next is put behind it, at the next multiple of batch_alignment.
  void show();

  // False: it is not in here, or no more.
  bool read(SegmentId segment, std::uint64_t offset, std::span<char> to) const;

 private:
  struct Run {  // bytes that follow each other in a segment and in memory
    SegmentId segment = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;   // what may be read
    std::uint64_t from = 0;  // where in the file the memory at `at` belongs
    std::size_t at = 0;

    std::size_t place(std::uint64_t offset) const { return at + static_cast<std::size_t>(offset - from); }
  };
  // What stands there is about to be overwritten.
  void forget(std::size_t first, std::size_t last);
  void start_run(const Run& run);

  static constexpr std::size_t runs_max = 64;

  char* memory_ = nullptr;
  const std::size_t bytes_;
  mutable std::mutex mutex_;
  std::deque<Run> runs_;    // oldest first; the last one is being written
  std::uint64_t next_ = 0;  // for who writes: where in the file the next bytes go
  std::size_t put_bytes_ = 0;
};

}  // namespace onceward::embedded
