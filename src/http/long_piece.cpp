#include "http/long_piece.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace onceward::http {
namespace {

// Pieces in use at one time are few: a piece is sent on before the next one is read.
constexpr std::size_t kept_blocks = 16;

thread_local std::vector<std::unique_ptr<char[]>> free_blocks;

char* take_block() {
  if (free_blocks.empty()) return new char[LongPiece::block_bytes];
  char* const block = free_blocks.back().release();
  free_blocks.pop_back();
  return block;
}

}  // namespace

Task<net::IoResult> LongPiece::read(net::Stream& stream, BodyDecoder& decoder, MonoTime deadline) {
  for (std::size_t i = 0; i < block_bytes / Buffer::block_bytes; ++i) co_await stream.breathe();
  while (true) {
    const net::IoStatus wait = co_await stream.readable(deadline);
    if (wait != net::IoStatus::ok) co_return net::IoResult{wait, 0};
    if (!block_) block_ = take_block();
    const std::size_t most = std::min<std::uint64_t>(decoder.data_left(), block_bytes);
    const net::IoResult result = stream.try_read(std::span(block_, most));
    if (result.status == net::IoStatus::ok) {
      bytes_ = result.bytes;
      decoder.skip(bytes_);
      co_return result;
    }
    drop();
    if (result.status != net::IoStatus::would_block) co_return result;
  }
}

void LongPiece::drop() {
  if (!block_) return;
  std::unique_ptr<char[]> owned(std::exchange(block_, nullptr));
  bytes_ = 0;
  if (free_blocks.size() < kept_blocks) free_blocks.push_back(std::move(owned));
}

}  // namespace onceward::http
