// LongPiece: a piece of a long body, read past the Buffer: in blocks of the Buffer's size a long body would
// be cut into many pieces, each of which is sent on by itself. Has a block only while there is a piece in it:
// who sends slowly holds none, who takes slowly holds one. One thread.
#pragma once

#include <string_view>

#include "base/task.hpp"
#include "http/body_decoder.hpp"
#include "http/buffer.hpp"
#include "net/stream.hpp"

namespace onceward::http {

class LongPiece {
 public:
  static constexpr std::size_t block_bytes = 64 * 1024;

  LongPiece() = default;
  LongPiece(const LongPiece&) = delete;
  LongPiece& operator=(const LongPiece&) = delete;
  ~LongPiece() { drop(); }

  // Whether what comes next is one: nothing is left in the buffer, and much is to come.
  static bool is_next(const Buffer& in, const BodyDecoder& decoder) {
    return in.empty() && decoder.data_left() >= Buffer::block_bytes;
  }
  // Waits for some of it; ok: it is view(), and the decoder has been told.
  Task<net::IoResult> read(net::Stream& stream, BodyDecoder& decoder, MonoTime deadline);
  std::string_view view() const { return {block_, bytes_}; }
  void drop();

 private:
  char* block_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace onceward::http
