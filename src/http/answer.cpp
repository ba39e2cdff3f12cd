// Writing an answer: the Connection's side of Exchange::respond and the streamed answers.
#include <array>
#include <charconv>
#include <utility>

#include "http/connection.hpp"
#include "http/http_date.hpp"
#include "http/response_writer.hpp"

namespace onceward::http {
namespace {

bool has_date(std::string_view lines) {
  while (!lines.empty()) {
    if (lines.size() > 5 && (lines[0] | 32) == 'd' && same_name(lines.substr(0, 5), "Date:")) return true;
    const std::size_t end = lines.find('\n');
    if (end == lines.npos) return false;
    lines.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

bool Connection::bodiless(int status) const {
  return head_.method == "HEAD" || status < 200 || status == 204 || status == 304;
}

void Connection::begin_head(int status, std::string_view lines, std::string_view reason) {
  out_.clear();
  append_status_line(out_, status, reason);
  out_.append(lines);
  status_ = status;
  if (!has_date(lines)) out_.append(date_line());
}

void Connection::end_head() {
  // Decided now, because the answer must say it: a body that is too long to be drained, or that the
  // client holds back until it is asked for it, ends the connection.
  const bool body_left = !decoder_.ended();
  if (server_.draining ||
      (body_left && (continue_due_ || decoder_.length_left() > server_.limits.drain_bytes)))
    keep_alive_ = false;
  if (!keep_alive_)
    out_.append("Connection: close\r\n");
  else if (head_.minor == 0)
    out_.append("Connection: keep-alive\r\n");
  out_.append("\r\n");
}

Task<bool> Connection::send(std::string_view first, std::string_view second, std::string_view third) {
  const std::string_view held = std::exchange(held_, false) ? std::string_view(out_) : std::string_view();
  const std::array<std::string_view, 4> pieces{held, first, second, third};
  bytes_sent_ += held.size() + first.size() + second.size() + third.size();
  Task<bool> writing = stream_.write_steadily(pieces, server_.limits.write_timeout);
  if (writing.now() == true) return writing;
  return finish_send(std::move(writing));
}

Task<bool> Connection::finish_send(Task<bool> writing) {
  if (co_await writing) co_return true;
  answer_ = Answer::cut;
  keep_alive_ = false;
  stream_.close();
  co_return false;
}

Task<bool> Connection::respond(int status, std::string_view lines, std::string_view body,
                               std::string_view reason) {
  ONCEWARD_ASSERT(answer_ == Answer::none || answer_ == Answer::cut);
  if (answer_ == Answer::cut) return Task<bool>::ready(false);
  begin_head(status, lines, reason);
  const bool no_length = status < 200 || status == 204 || status == 304;
  if (!no_length) {
    out_.append("Content-Length: ");
    append_number(out_, body.size());
    out_.append("\r\n");
  }
  end_head();
  answer_ = Answer::done;
  return send(out_, bodiless(status) ? std::string_view() : body);
}

Task<bool> Connection::start(int status, std::string_view lines, Body body, std::string_view reason,
                             bool hold) {
  ONCEWARD_ASSERT(answer_ == Answer::none || answer_ == Answer::cut);
  if (answer_ == Answer::cut) return Task<bool>::ready(false);
  begin_head(status, lines, reason);
  no_answer_body_ = bodiless(status);
  if (body.kind == Body::Kind::chunked && head_.minor == 0) body = Body::until_close();
  const bool no_length = status < 200 || status == 204 || status == 304;
  if (no_length) body = Body::none();
  if (body.kind == Body::Kind::length || (body.kind == Body::Kind::none && !no_answer_body_)) {
    out_.append("Content-Length: ");
    append_number(out_, body.bytes);
    out_.append("\r\n");
  } else if (body.kind == Body::Kind::chunked) {
    out_.append("Transfer-Encoding: chunked\r\n");
  } else if (body.kind == Body::Kind::until_close && !no_answer_body_) {
    keep_alive_ = false;
  }
  answer_kind_ = no_answer_body_ ? Body::Kind::none : body.kind;
  answer_left_ = answer_kind_ == Body::Kind::length ? body.bytes : 0;
  answer_ = Answer::streaming;
  if (status == 101) {
    out_.append("Connection: upgrade\r\n\r\n");
  } else {
    end_head();
  }
  held_ = hold;
  return hold ? Task<bool>::ready(true) : send(out_);
}

Task<bool> Connection::write(std::string_view data) {
  if (answer_ != Answer::streaming) return Task<bool>::ready(false);
  if (no_answer_body_ || data.empty()) return Task<bool>::ready(true);
  switch (answer_kind_) {
    case Body::Kind::none:
      return Task<bool>::ready(false);
    case Body::Kind::until_close:
      return send(data);
    case Body::Kind::length:
      if (data.size() > answer_left_) return Task<bool>::ready(false);
      answer_left_ -= data.size();
      return send(data);
    case Body::Kind::chunked:
      break;
  }
  return write_chunk(data);
}

Task<bool> Connection::write_chunk(std::string_view data) {
  std::array<char, 20> size{};
  char* end = std::to_chars(size.data(), size.data() + 16, data.size(), 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  co_return co_await send({size.data(), static_cast<std::size_t>(end - size.data())}, data, "\r\n");
}

Task<bool> Connection::finish() {
  if (answer_ != Answer::streaming) return Task<bool>::ready(false);
  if (answer_left_ != 0) {
    abort();
    return Task<bool>::ready(false);
  }
  answer_ = Answer::done;
  if (answer_kind_ == Body::Kind::chunked) return send("0\r\n\r\n");
  return held_ ? send({}) : Task<bool>::ready(true);
}

void Connection::abort() {
  answer_ = Answer::cut;
  keep_alive_ = false;
  // Only a reset tells a body that ends with the connection from one that was cut.
  stream_.reset();
}

Task<bool> Connection::informational(int status, std::string_view lines) {
  if (answer_ != Answer::none) co_return false;
  if (head_.minor == 0) co_return true;
  if (status == 100) continue_due_ = false;
  out_.clear();
  append_status_line(out_, status, {});
  out_.append(lines).append("\r\n");
  co_return co_await send(out_);
}

}  // namespace onceward::http
