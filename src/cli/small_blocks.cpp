// What `new` takes and `delete` gives back in the program, for small blocks: each thread keeps those that it
// was given back and hands them out again. The C library does so too, for seven of a size; a round of the
// loop has as many requests under way as there are connections, and the eighth costs several times as much.
// Not in the library, whose users choose for themselves, and not under sanitizers, which must see each
// block's end.
#include <malloc.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

namespace {

constexpr std::size_t step = 16;
constexpr std::size_t largest = 1024;
constexpr std::size_t classes = largest / step + 1;  // by size; the first stands for none
constexpr std::uint32_t kept_per_class = 128;  // of each size: 4 MiB a thread at the most, if all are used

struct Free {
  Free* next;
};

struct Kept {
  std::array<Free*, classes> first;
  std::array<std::uint32_t, classes> count;
};

// Without constructor and destructor, so that reaching it is one instruction.
constinit thread_local Kept kept{};

struct Cleaner {
  bool on = false;
  ~Cleaner() {
    for (Free*& first : kept.first)
      while (first) std::free(std::exchange(first, first->next));
    kept.count.fill(kept_per_class);  // what is given back from now on is not kept
  }
};
thread_local Cleaner cleaner;

std::size_t class_of(std::size_t bytes) { return bytes == 0 ? 1 : (bytes + step - 1) / step; }

void* from_library(std::size_t bytes) {
  cleaner.on = true;
  for (;;) {
    if (void* block = std::malloc(bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void keep(void* block, std::size_t cls) {
  if (kept.count[cls] >= kept_per_class) return std::free(block);
  ++kept.count[cls];
  kept.first[cls] = new (block) Free{kept.first[cls]};
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes > largest) return from_library(bytes);
  const std::size_t cls = class_of(bytes);
  Free* const first = kept.first[cls];
  if (!first) return from_library(cls * step);
  kept.first[cls] = first->next;
  --kept.count[cls];
  return first;
}

void operator delete(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  bytes <= largest ? keep(block, class_of(bytes)) : std::free(block);
}

void operator delete(void* block) noexcept {
  if (!block) return;
  // At least what was asked for: a block of the C library is a multiple of the step, and half a step.
  const std::size_t cls = malloc_usable_size(block) / step;
  cls < classes ? keep(block, cls) : std::free(block);
}

void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete[](void* block, std::size_t bytes) noexcept { operator delete(block, bytes); }

#endif
