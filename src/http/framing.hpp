// What a head says about its body, judged strictly (RFC 9112, section 6): whatever two implementations
// could read differently is refused, because a difference is how a request is smuggled. Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/head.hpp"

namespace onceward::http {

struct Framing {
  Body body;
  bool coded = false;         // see RequestHead
  int answer = 0;             // 0: fine; otherwise the status a request with this head deserves
  std::string_view detail{};  // static text

  bool ok() const { return answer == 0; }
};

// Everything but the target: version, Host, Content-Length, Transfer-Encoding, Expect.
Framing check_framing(const RequestHead& head);

// Accepts origin-form (nothing at all is "/"), absolute-form and "*" (OPTIONS); sets target and host of the
// head.
Framing check_target(RequestHead& head);

// The codings of a request's body besides chunked, in their order, written anew: "gzip, deflate, ". Their
// parameters, which nobody defines, and `identity`, which says nothing, are left out.
void append_codings(std::string& out, const HeaderList& headers);

Framing check_response_framing(const ResponseHead& head, std::string_view request_method);

}  // namespace onceward::http
