// PackedMemory: room for many small blocks of bytes that live long. Blocks lie side by side in chunks of
// one huge page each, because a page fault costs as much as everything else that is done for a record,
// and are reused by size once they are given back; chunks are kept. The next chunk is made ready on a thread
// of its own: where the host must find the memory first, a huge page takes it ten milliseconds. Any thread.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace onceward::memory {

class PackedMemory {
 public:
  PackedMemory() = default;
  ~PackedMemory();
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;

  char* take(std::size_t bytes);
  void give_back(char* block, std::size_t bytes);  // `bytes` as it was taken

  // What a block of so many bytes really takes.
  static std::size_t taken_bytes(std::size_t bytes) { return (bytes + step - 1) / step * step; }

 private:
  static constexpr std::size_t step = 16;
  static constexpr std::size_t largest = 4096;  // larger ones are the C library's
  struct Free {
    Free* next;
  };
  struct Chunk {
    char* data;
    std::size_t bytes;
  };

  void add_chunk();
  void ask_for_spare();
  void make_spares();

  std::mutex mutex_;
  std::array<Free*, largest / step + 1> free_{};
  std::vector<Chunk> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  char* spare_ = nullptr;  // the next chunk
  bool spare_wanted_ = false;
  bool closing_ = false;
  std::condition_variable wake_;
  std::thread maker_;
};

}  // namespace onceward::memory
