// URLs of upstreams, taken apart. Pure.
#pragma once

#include <string>
#include <string_view>

#include "onceward/result.hpp"

namespace onceward::http {

struct Url {
  bool tls = false;
  std::string host;       // without brackets
  std::string port;       // always set
  std::string authority;  // as written: what a Host header says
  std::string base_path;  // "" or "/base", without a slash at the end
  std::string socket;     // of unix:/path; empty: the host is connected to
};

// http://…, https://…, or unix:/path: HTTP on a socket in the file system, addressed as localhost.
Result<Url> parse_url(std::string_view text);

}  // namespace onceward::http
