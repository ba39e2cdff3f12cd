#include "http/parser.hpp"

#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "http/chars.hpp"
#include "http/framing.hpp"

namespace onceward::http {
namespace {

using Status = HeadParse::Status;

HeadParse bad(std::string_view detail, int answer = 400) { return {Status::bad, 0, answer, detail}; }

// Where a header value ends: at the first byte that it may not have. Values are most of a head, so they
// are looked through sixteen bytes at a time.
const char* end_of_value(const char* at, const char* end) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    const __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
    const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
    const int refused = _mm_movemask_epi8(_mm_or_si128(_mm_andnot_si128(tab, control), del));
    if (refused != 0) return at + __builtin_ctz(static_cast<unsigned>(refused));
  }
#endif
  while (at != end && is_value_char(*at)) ++at;
  return at;
}

// Whether a head ends with the LF at `at`. A bare one can never become a valid head: it is called whole, so
// that it is refused now.
bool ends_head(std::string_view input, std::size_t at) {
  return at < 2 || input[at - 1] != '\r' || input[at - 2] == '\n';
}

// Walks over one head; every take_ function leaves the position behind what it took.
class Cursor {
 public:
  explicit Cursor(std::string_view input) : begin_(input.data()), at_(begin_), end_(begin_ + input.size()) {}

  std::size_t used() const { return static_cast<std::size_t>(at_ - begin_); }
  bool at_end() const { return at_ == end_; }

  template <class Accepts>
  std::string_view take_while(Accepts accepts) {
    const char* from = at_;
    while (at_ != end_ && accepts(*at_)) ++at_;
    return {from, static_cast<std::size_t>(at_ - from)};
  }
  std::string_view take_value() {
    const char* from = at_;
    at_ = end_of_value(at_, end_);
    return {from, static_cast<std::size_t>(at_ - from)};
  }
  bool take(std::string_view text) {
    if (static_cast<std::size_t>(end_ - at_) < text.size()) return false;
    if (std::memcmp(at_, text.data(), text.size()) != 0) return false;
    at_ += text.size();
    return true;
  }
  bool take_line_end() { return take("\r\n"); }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
};

constexpr std::size_t headers_max = 256;
constexpr std::string_view too_many = "too many header lines";

// Returns static text when the lines are bad; empty when they are fine up to the empty line.
std::string_view take_headers(Cursor& cursor, HeaderList& headers) {
  while (!cursor.take_line_end()) {
    if (headers.size() == headers_max) return too_many;
    const std::string_view name = cursor.take_while(is_token_char);
    if (name.empty()) return "a header line without a valid name";
    if (!cursor.take(":")) return "a header name with an invalid character";
    const std::string_view value = cursor.take_value();
    if (!cursor.take_line_end()) return "a header value with an invalid character";
    headers.add(name, trim(value));
  }
  return {};
}

// -1: not HTTP/1.x at all; -2: another version of HTTP.
int take_version(Cursor& cursor) {
  if (!cursor.take("HTTP/")) return -1;
  const std::string_view digits =
      cursor.take_while([](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (digits == "1.1") return 1;
  if (digits == "1.0") return 0;
  return digits.size() == 3 && digits[1] == '.' && digits[0] != '.' && digits[2] != '.' ? -2 : -1;
}

bool connection_persists(const HeaderList& headers, int minor) {
  bool close = false;
  bool keep = minor == 1;
  for (const HeaderView& field : headers) {
    if (field.name.size() != 10 || !same_name(field.name, "Connection")) continue;
    close = close || has_token(field.value, "close");
    keep = keep || has_token(field.value, "keep-alive");
  }
  return keep && !close;
}

}  // namespace

std::size_t find_head_end(std::string_view input, std::size_t from) {
#ifdef __SSE2__
  // Lines are short, so that a call of memchr for each would cost more than looking at all bytes here.
  for (; from + 16 <= input.size(); from += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(input.data() + from));
    auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'))));
    for (; found != 0; found &= found - 1) {
      const std::size_t at = from + static_cast<std::size_t>(__builtin_ctz(found));
      if (ends_head(input, at)) return at + 1;
    }
  }
#endif
  for (; from < input.size(); ++from)
    if (input[from] == '\n' && ends_head(input, from)) return from + 1;
  return 0;
}

HeadParse parse_request_head(std::string_view input, RequestHead& out) {
  const std::size_t end = find_head_end(input);
  out.clear();
  if (end == 0) return {};
  return parse_whole_request_head(input.substr(0, end), out);
}

HeadParse parse_response_head(std::string_view input, std::string_view request_method, ResponseHead& out) {
  const std::size_t end = find_head_end(input);
  out.clear();
  if (end == 0) return {};
  return parse_whole_response_head(input.substr(0, end), request_method, out);
}

HeadParse parse_whole_request_head(std::string_view head, RequestHead& out) {
  out.clear();
  Cursor cursor(head);
  out.method = cursor.take_while(is_token_char);
  if (out.method.empty() || !cursor.take(" ")) return bad("the request line has no valid method");
  out.target = cursor.take_while(is_target_char);
  if (!cursor.take(" ")) return bad("the request line has no valid target");
  out.minor = take_version(cursor);
  if (out.minor == -2) return bad("only HTTP/1.0 and HTTP/1.1 are spoken here");
  if (out.minor < 0 || !cursor.take_line_end()) return bad("the request line has no valid version");
  if (const std::string_view detail = take_headers(cursor, out.headers); !detail.empty())
    return bad(detail, detail == too_many ? 431 : 400);

  const Framing framing = check_framing(out);
  if (!framing.ok()) return bad(framing.detail, framing.answer);
  const Framing target = check_target(out);
  if (!target.ok()) return bad(target.detail, target.answer);
  out.body = framing.body;
  out.coded = framing.coded;
  out.keep_alive = connection_persists(out.headers, out.minor);
  if (out.minor == 1 && !out.body.empty()) out.expect_continue = out.headers.find("Expect").has_value();
  return {Status::done, cursor.used(), 0, {}};
}

HeadParse parse_whole_response_head(std::string_view head, std::string_view request_method,
                                    ResponseHead& out) {
  out.clear();
  Cursor cursor(head);
  out.minor = take_version(cursor);
  if (out.minor < 0 || !cursor.take(" ")) return bad("the status line has no valid version");
  const std::string_view digits = cursor.take_while([](char c) { return c >= '0' && c <= '9'; });
  if (digits.size() != 3) return bad("the status line has no valid status");
  for (char digit : digits) out.status = out.status * 10 + (digit - '0');
  if (out.status < 100 || out.status > 599) return bad("the status line has no valid status");
  if (cursor.take(" ")) out.reason = cursor.take_while(is_value_char);
  if (!cursor.take_line_end()) return bad("the status line is malformed");
  if (const std::string_view detail = take_headers(cursor, out.headers); !detail.empty()) return bad(detail);

  const Framing framing = check_response_framing(out, request_method);
  if (!framing.ok()) return bad(framing.detail, framing.answer);
  out.body = framing.body;
  out.keep_alive = out.body.kind != Body::Kind::until_close && out.status != 101 &&
                   connection_persists(out.headers, out.minor);
  return {Status::done, cursor.used(), 0, {}};
}

}  // namespace onceward::http
