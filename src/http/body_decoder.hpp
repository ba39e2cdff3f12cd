// BodyDecoder: takes a message's body out of the byte stream, whatever its framing. Pure; fed with the
// unread input, it answers with views into it. Chunk extensions and trailers are checked, bounded and
// dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/head.hpp"

namespace onceward::http {

class BodyDecoder {
 public:
  struct Step {
    enum class Status { piece, need_more, end, bad };
    Status status = Status::need_more;
    std::string_view data;     // of a piece
    std::size_t consumed = 0;  // bytes of the input that are done with once `data` has been used
  };

  void reset(Body body);
  Step next(std::string_view input);
  // The connection ended: true when that is a proper end of this body (until_close only, or already over).
  bool end_of_stream() const { return state_ == State::until_close || state_ == State::end; }
  bool ended() const { return state_ == State::end; }
  std::uint64_t length_left() const { return state_ == State::length ? left_ : 0; }
  // How much of what comes next is data and nothing else, as far as is known already.
  std::uint64_t data_left() const {
    return state_ == State::length || state_ == State::chunk_data ? left_ : 0;
  }
  // Data that was read around the decoder.
  void skip(std::uint64_t bytes);

 private:
  enum class State : std::uint8_t {
    end,
    length,
    until_close,
    chunk_size,
    chunk_data,
    chunk_end,
    trailer,
    bad
  };
  void take(std::uint64_t data_bytes);
  Step take_data(std::string_view rest);
  Step take_chunk_end(std::string_view rest);
  Step take_chunk_size(std::string_view rest);
  Step take_trailer(std::string_view rest);
  Step fail();

  State state_ = State::end;
  std::uint64_t left_ = 0;
  std::size_t extra_bytes_ = 0;
};

}  // namespace onceward::http
