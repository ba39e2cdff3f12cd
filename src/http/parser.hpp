// Strict HTTP/1.x head parsing (RFC 9112) into flat views. Pure. A head is parsed only once it is whole,
// so the buffer may grow or move while its bytes arrive. It is an own parser instead of Beast's because
// what a proxy must refuse (obs-fold, white space before the colon, bare CR or LF) is no longer visible
// after a lax one; framing.hpp then judges what the head says about the body.
#pragma once

#include <cstddef>
#include <string_view>

#include "http/head.hpp"

namespace onceward::http {

struct HeadParse {
  enum class Status { need_more, done, bad };
  Status status = Status::need_more;
  std::size_t bytes = 0;    // of the head, when done
  int answer = 400;         // what a bad request deserves
  std::string_view detail;  // why it is bad; static text
};

// Where the head ends (one past its last byte), or 0 while it is not whole. `from` is how many bytes
// were already searched, so that a slow head is not scanned again and again.
std::size_t find_head_end(std::string_view input, std::size_t from = 0);

// Parses and checks a request head at the start of `input`; `out.body` and the rest are filled in.
HeadParse parse_request_head(std::string_view input, RequestHead& out);

// `request_method` decides whether there is a body (HEAD).
HeadParse parse_response_head(std::string_view input, std::string_view request_method, ResponseHead& out);

// The same for whoever has looked for the end already: `head` ends there.
HeadParse parse_whole_request_head(std::string_view head, RequestHead& out);
HeadParse parse_whole_response_head(std::string_view head, std::string_view request_method,
                                    ResponseHead& out);

}  // namespace onceward::http
