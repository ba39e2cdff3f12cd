#include "http/body_decoder.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "http/chars.hpp"

namespace onceward::http {
namespace {

constexpr std::size_t line_bytes_max = 1024;        // a chunk's size with its extensions; a trailer line
constexpr std::size_t extra_bytes_max = 16 * 1024;  // all extensions and trailers of one body

using Status = BodyDecoder::Step::Status;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool all_value_chars(std::string_view text) { return std::ranges::all_of(text, is_value_char); }

struct Line {
  Status status = Status::need_more;  // piece: whole
  std::string_view text;              // without its end
  std::size_t bytes = 0;
};

Line take_line(std::string_view input) {
  const std::size_t end = input.substr(0, line_bytes_max).find('\n');
  if (end == input.npos) return {input.size() >= line_bytes_max ? Status::bad : Status::need_more, {}, 0};
  if (end == 0 || input[end - 1] != '\r') return {Status::bad, {}, 0};
  return {Status::piece, input.substr(0, end - 1), end + 1};
}

}  // namespace

void BodyDecoder::reset(Body body) {
  left_ = 0;
  extra_bytes_ = 0;
  state_ = State::end;
  if (body.empty()) return;
  switch (body.kind) {
    case Body::Kind::none:
      break;
    case Body::Kind::length:
      state_ = State::length;
      left_ = body.bytes;
      break;
    case Body::Kind::chunked:
      state_ = State::chunk_size;
      break;
    case Body::Kind::until_close:
      state_ = State::until_close;
      break;
  }
}

void BodyDecoder::skip(std::uint64_t bytes) {
  ONCEWARD_ASSERT(state_ == State::length || state_ == State::chunk_data);
  ONCEWARD_ASSERT(bytes <= left_);
  take(bytes);
}

void BodyDecoder::take(std::uint64_t bytes) {
  left_ -= bytes;
  if (left_ == 0) state_ = state_ == State::length ? State::end : State::chunk_end;
}

BodyDecoder::Step BodyDecoder::fail() {
  state_ = State::bad;
  return {Status::bad, {}, 0};
}

BodyDecoder::Step BodyDecoder::next(std::string_view input) {
  std::size_t used = 0;
  while (true) {
    const std::string_view rest = input.substr(used);
    Step step;
    switch (state_) {
      case State::bad:
        return fail();
      case State::end:
        return {Status::end, {}, used};
      case State::until_close:
        return {rest.empty() ? Status::need_more : Status::piece, rest, rest.size()};
      case State::length:
      case State::chunk_data:
        step = take_data(rest);
        break;
      case State::chunk_end:
        step = take_chunk_end(rest);
        break;
      case State::chunk_size:
        step = take_chunk_size(rest);
        break;
      case State::trailer:
        step = take_trailer(rest);
        break;
    }
    if (step.status == Status::bad) return fail();
    used += step.consumed;
    if (step.status == Status::piece || step.status == Status::need_more)
      return {step.status, step.data, used};
  }
}

// The steps below answer `end` for "taken, go on with the new state".

BodyDecoder::Step BodyDecoder::take_data(std::string_view rest) {
  if (rest.empty()) return {Status::need_more, {}, 0};
  const std::string_view data = rest.substr(0, std::min<std::uint64_t>(left_, rest.size()));
  take(data.size());
  return {Status::piece, data, data.size()};
}

BodyDecoder::Step BodyDecoder::take_chunk_end(std::string_view rest) {
  if (!std::string_view("\r\n").starts_with(rest.substr(0, 2))) return {Status::bad, {}, 0};
  if (rest.size() < 2) return {Status::need_more, {}, 0};
  state_ = State::chunk_size;
  return {Status::end, {}, 2};
}

BodyDecoder::Step BodyDecoder::take_chunk_size(std::string_view rest) {
  const Line line = take_line(rest);
  if (line.status != Status::piece) return {line.status, {}, 0};
  std::uint64_t size = 0;
  std::size_t digits = 0;
  for (; digits < line.text.size() && hex_digit(line.text[digits]) >= 0; ++digits)
    size = size * 16 + static_cast<std::uint64_t>(hex_digit(line.text[digits]));
  if (digits == 0 || digits > 15) return {Status::bad, {}, 0};
  const std::string_view extension = line.text.substr(digits);
  extra_bytes_ += extension.size();
  if (!extension.empty() && (extension.front() != ';' || !all_value_chars(extension)))
    return {Status::bad, {}, 0};
  if (extra_bytes_ > extra_bytes_max) return {Status::bad, {}, 0};
  left_ = size;
  state_ = size == 0 ? State::trailer : State::chunk_data;
  return {Status::end, {}, line.bytes};
}

BodyDecoder::Step BodyDecoder::take_trailer(std::string_view rest) {
  const Line line = take_line(rest);
  if (line.status != Status::piece) return {line.status, {}, 0};
  extra_bytes_ += line.bytes;
  if (extra_bytes_ > extra_bytes_max) return {Status::bad, {}, 0};
  if (line.text.empty()) {
    state_ = State::end;
    return {Status::end, {}, line.bytes};
  }
  const std::size_t colon = line.text.find(':');
  if (colon == 0 || colon == line.text.npos) return {Status::bad, {}, 0};
  if (!std::ranges::all_of(line.text.substr(0, colon), is_token_char)) return {Status::bad, {}, 0};
  if (!all_value_chars(line.text.substr(colon + 1))) return {Status::bad, {}, 0};
  return {Status::end, {}, line.bytes};
}

}  // namespace onceward::http
