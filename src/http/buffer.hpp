// Buffer: bytes read from a stream and not yet used. Its block comes from a per-thread pool and goes
// back when the connection idles, so that an idle connection holds none. One thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace onceward::http {

class Buffer {
 public:
  static constexpr std::size_t block_bytes = 16 * 1024;

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { drop(); }

  std::string_view unread() const { return {data_ + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  void consume(std::size_t bytes);

  // At least `bytes` (more if there are) to read into. Moves unread bytes only down to the pinned ones,
  // and everything when the block must grow: grow before there are views.
  std::span<char> room(std::size_t bytes);
  void filled(std::size_t bytes) { end_ += bytes; }

  // Keeps the first `bytes` unread ones where they are (a head with views on it) and moves on behind.
  void pin(std::size_t bytes);
  void unpin() { pinned_ = 0; }

  void drop_if_empty() {
    if (empty() && pinned_ == 0) drop();
  }
  void drop();

 private:
  void grow(std::size_t capacity);

  char* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t pinned_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace onceward::http
