#include "stores/memory/packed_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "stores/memory/pages.hpp"

namespace onceward::memory {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{2} << 20;
constexpr std::size_t cache_line = 64;

}  // namespace

PackedMemory::~PackedMemory() {
  for (char* chunk : chunks_) ::munmap(chunk, chunk_bytes);
}

void PackedMemory::add_chunk() {
  chunks_.reserve(chunks_.size() + 1);
  next_ = map_small_pages(chunk_bytes);
  left_ = chunk_bytes;
  chunks_.push_back(next_);
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
