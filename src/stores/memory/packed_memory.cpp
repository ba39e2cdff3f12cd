#include "stores/memory/packed_memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "stores/memory/pages.hpp"

namespace onceward::memory {
namespace {

constexpr std::size_t small_chunk = std::size_t{256} << 10;  // a store with few records stays small
constexpr std::size_t cache_line = 64;

}  // namespace

PackedMemory::~PackedMemory() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  if (maker_.joinable()) maker_.join();
  if (spare_) ::munmap(spare_, huge_page);
  for (const Chunk& chunk : chunks_) ::munmap(chunk.data, chunk.bytes);
}

void PackedMemory::add_chunk() {
  const bool is_first = chunks_.empty();
  chunks_.reserve(chunks_.size() + 1);
  Chunk chunk{nullptr, huge_page};
  if (is_first) {
    chunk = {map_pages(small_chunk), small_chunk};
  } else {
    chunk.data = spare_ ? std::exchange(spare_, nullptr) : map_pages(huge_page);
  }
  chunks_.push_back(chunk);
  next_ = chunk.data;
  left_ = chunk.bytes;
  if (!is_first) ask_for_spare();
}

void PackedMemory::ask_for_spare() {
  spare_wanted_ = true;
  if (maker_.joinable()) return wake_.notify_one();
  try {
    maker_ = std::thread([this] { make_spares(); });
  } catch (const std::exception&) {
    // No thread, or no memory for one: each chunk is then made when it is needed.
  }
}

void PackedMemory::make_spares() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closing_ || (spare_wanted_ && !spare_); });
    if (closing_) return;
    spare_wanted_ = false;
    lock.unlock();
    char* made = nullptr;
    try {
      made = map_pages(huge_page);
      fault_in(made);
    } catch (const std::bad_alloc&) {
      // Who needs the chunk will be told.
    }
    lock.lock();
    spare_ = made;
  }
}

char* PackedMemory::take(std::size_t bytes) {
  bytes = taken_bytes(bytes);
  if (bytes > largest) {
    void* block = std::malloc(bytes);
    if (!block) throw std::bad_alloc();
    return static_cast<char*>(block);
  }
  const std::lock_guard lock(mutex_);
  if (Free*& head = free_[bytes / step]) {
    Free* block = head;
    head = block->next;
    return reinterpret_cast<char*>(block);
  }
  // The rest of a chunk is lost: a record's size of two million bytes.
  if (left_ < bytes) add_chunk();
  char* block = next_;
  next_ += bytes;
  left_ -= bytes;
  // The next one is about as large, and its memory is in no cache: whoever writes there would wait for it.
  for (std::size_t at = 0; at < bytes + cache_line; at += cache_line) __builtin_prefetch(next_ + at, 1);
  return block;
}

void PackedMemory::give_back(char* block, std::size_t bytes) {
  bytes = taken_bytes(bytes);
  if (bytes > largest) return std::free(block);
  const std::lock_guard lock(mutex_);
  free_[bytes / step] = new (block) Free{free_[bytes / step]};
}

}  // namespace onceward::memory
