#include "base/task.hpp"

#include <cstdlib>
#include <new>

#include "base/block_cache.hpp"

namespace onceward {
namespace {

// Under AddressSanitizer every frame is a plain allocation, so that it sees each frame's end.
#if __has_feature(address_sanitizer)
constexpr bool keep_frames = false;
#else
constexpr bool keep_frames = true;
#endif

constexpr std::size_t largest = 4096;  // larger frames are not kept
using Frames = BlockCache<256, largest, 256>;
constinit thread_local Frames frames;

struct FrameCleaner {
  bool on = false;
  ~FrameCleaner() { frames.let_go(); }
};
thread_local FrameCleaner cleaner;

}  // namespace

void* allocate_frame(std::size_t bytes) {
  if (keep_frames && bytes <= largest) {
    const std::size_t cls = Frames::class_of(bytes);
    if (void* const frame = frames.take(cls)) return frame;
    bytes = Frames::class_bytes(cls);
  }
  cleaner.on = true;
  void* frame = std::malloc(bytes);
  if (!frame) throw std::bad_alloc();
  return frame;
}

void release_frame(void* frame, std::size_t bytes) noexcept {
  if (!keep_frames || bytes > largest) return std::free(frame);
  frames.give_back(frame, Frames::class_of(bytes));
}

}  // namespace onceward
