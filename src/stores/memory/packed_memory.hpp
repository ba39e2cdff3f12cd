// PackedMemory: room for many small blocks of bytes that live long. Blocks lie side by side in large chunks,
// so that one page fault serves many of them, and are reused by size once they are given back; chunks are
// kept. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
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

  void add_chunk();

  std::mutex mutex_;
  std::array<Free*, largest / step + 1> free_{};
  std::vector<char*> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace onceward::memory
