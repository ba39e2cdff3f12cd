// What `new` takes and `delete` gives back in the program, for small blocks: each thread keeps those that it
// was given back and hands them out again. The C library does so too, for seven of a size; a round of the
// loop has as many requests under way as there are connections, and the eighth costs several times as much.
// Not in the library, whose users choose for themselves, and not under sanitizers, which must see each
// block's end.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "base/block_cache.hpp"

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

namespace {

constexpr std::size_t step = 16;
constexpr std::size_t largest = 1024;
using Blocks = onceward::BlockCache<step, largest, 128>;  // 4 MiB a thread at the most, if all sizes are used
constinit thread_local Blocks blocks;

struct Cleaner {
  bool on = false;
  ~Cleaner() { blocks.let_go(); }
};
thread_local Cleaner cleaner;

void* from_library(std::size_t bytes) {
  cleaner.on = true;
  for (;;) {
    if (void* block = std::malloc(bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

std::size_t class_of(std::size_t bytes) { return bytes == 0 ? 0 : Blocks::class_of(bytes); }

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes > largest) return from_library(bytes);
  const std::size_t cls = class_of(bytes);
  void* const block = blocks.take(cls);
  return block ? block : from_library(Blocks::class_bytes(cls));
}

void operator delete(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  bytes <= largest ? blocks.give_back(block, class_of(bytes)) : std::free(block);
}

void operator delete(void* block) noexcept {
  if (!block) return;
  // At least what was asked for: a block of the C library is a multiple of the step, and half a step.
  const std::size_t bytes = malloc_usable_size(block) / step * step;
  bytes <= largest ? blocks.give_back(block, class_of(bytes)) : std::free(block);
}

void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete[](void* block, std::size_t bytes) noexcept { operator delete(block, bytes); }

#endif
