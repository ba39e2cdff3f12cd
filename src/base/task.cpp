#include "base/task.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace onceward {
namespace {

constexpr std::size_t class_bytes = 256;
constexpr std::size_t classes = 16;  // frames up to 4 KiB are kept
constexpr std::uint32_t kept_per_class = 256;

// Under AddressSanitizer every frame is a plain allocation, so that it sees each frame's end.
#if __has_feature(address_sanitizer)
constexpr bool keep_frames = false;
#else
constexpr bool keep_frames = true;
#endif

struct FreeFrame {
  FreeFrame* next;
};

// Without constructor and destructor, so that reaching it is one instruction; what ends with the thread
// is told to FrameCleaner, by the slow path.
struct FrameCache {
  std::array<FreeFrame*, classes> free;
  std::array<std::uint32_t, classes> count;
};

constinit thread_local FrameCache frames{};

struct FrameCleaner {
  bool on = false;
  ~FrameCleaner() {
    for (FreeFrame*& head : frames.free)
      while (head) std::free(std::exchange(head, head->next));
    frames.count.fill(kept_per_class);  // what is released from now on is not kept
  }
};

thread_local FrameCleaner cleaner;

std::size_t class_of(std::size_t bytes) { return (bytes - 1) / class_bytes; }

}  // namespace

void* allocate_frame(std::size_t bytes) {
  const std::size_t cls = class_of(bytes);
  if (keep_frames && cls < classes) {
    if (FreeFrame* head = frames.free[cls]) {
      frames.free[cls] = head->next;
      --frames.count[cls];
      return head;
    }
    bytes = (cls + 1) * class_bytes;
  }
  cleaner.on = true;
  void* frame = std::malloc(bytes);
  if (!frame) throw std::bad_alloc();
  return frame;
}

void release_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t cls = class_of(bytes);
  if (keep_frames && cls < classes && frames.count[cls] < kept_per_class) {
    auto* head = static_cast<FreeFrame*>(frame);
    head->next = frames.free[cls];
    frames.free[cls] = head;
    ++frames.count[cls];
    return;
  }
  std::free(frame);
}

}  // namespace onceward
