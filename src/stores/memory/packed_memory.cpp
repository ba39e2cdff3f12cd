#include "stores/memory/packed_memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

namespace onceward::memory {
namespace {

constexpr std::size_t small_chunk = std::size_t{256} << 10;  // a store with few records stays small
constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

char* map(std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(mapped);
}

// A huge page must begin at a multiple of its size: more is mapped than needed and the ends are cut off.
char* map_huge_page() {
  char* mapped = map(2 * huge_page);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(mapped) % huge_page) % huge_page;
  if (before != 0) ::munmap(mapped, before);
  char* aligned = mapped + before;
  ::munmap(aligned + huge_page, huge_page - before);
  ::madvise(aligned, huge_page, MADV_HUGEPAGE);  // only a wish: without it everything works the same
  return aligned;
}

// So that the first write to it finds the page there.
void fault_in(char* page) {
  if (::madvise(page, huge_page, MADV_POPULATE_WRITE) == 0) return;
  for (std::size_t at = 0; at < huge_page; at += 4096) *static_cast<volatile char*>(page + at) = 0;
}

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
    chunk = {map(small_chunk), small_chunk};
  } else {
    chunk.data = spare_ ? std::exchange(spare_, nullptr) : map_huge_page();
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
      made = map_huge_page();
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
