#include "http/buffer.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "base/assert.hpp"

namespace onceward::http {
namespace {

constexpr std::size_t kept_blocks = 256;

thread_local std::vector<std::unique_ptr<char[]>> free_blocks;

char* take_block(std::size_t bytes) {
  if (bytes != Buffer::block_bytes || free_blocks.empty()) return new char[bytes];
  char* block = free_blocks.back().release();
  free_blocks.pop_back();
  return block;
}

void give_block(char* block, std::size_t bytes) {
  std::unique_ptr<char[]> owned(block);
  if (bytes == Buffer::block_bytes && free_blocks.size() < kept_blocks)
    free_blocks.push_back(std::move(owned));
}

}  // namespace

void Buffer::consume(std::size_t bytes) {
  ONCEWARD_ASSERT(bytes <= end_ - begin_);
  begin_ += bytes;
  if (begin_ == end_) begin_ = end_ = pinned_;
}

std::span<char> Buffer::room(std::size_t bytes) {
  if (!data_) grow(bytes);
  if (capacity_ - end_ < bytes && begin_ > pinned_) {
    std::memmove(data_ + pinned_, data_ + begin_, end_ - begin_);
    end_ -= begin_ - pinned_;
    begin_ = pinned_;
  }
  if (capacity_ - end_ < bytes) grow(end_ + bytes);
  return {data_ + end_, capacity_ - end_};
}

void Buffer::grow(std::size_t capacity) {
  // Views on a pinned head would dangle.
  ONCEWARD_ASSERT(pinned_ == 0);
  if (capacity <= block_bytes) capacity = block_bytes;
  char* larger = take_block(capacity);
  if (data_) {
    std::memcpy(larger, data_ + begin_, end_ - begin_);
    give_block(data_, capacity_);
  }
  data_ = larger;
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

void Buffer::pin(std::size_t bytes) {
  ONCEWARD_ASSERT(bytes <= end_ - begin_);
  begin_ += bytes;
  pinned_ = begin_;
}

void Buffer::drop() {
  if (!data_) return;
  give_block(data_, capacity_);
  data_ = nullptr;
  capacity_ = pinned_ = begin_ = end_ = 0;
}

}  // namespace onceward::http
