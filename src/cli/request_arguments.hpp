// RequestArguments: -X, -H, -d and the URL as curl takes them, turned into a request.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "onceward/client.hpp"

namespace onceward::cli {

struct RequestArguments {
  std::string url;
  std::string method;  // empty: POST with a body, GET without
  std::vector<std::string> headers;
  std::optional<std::string> data;  // @file and @- are read
};

// The options of a command that takes such arguments; they point into `arguments`.
std::vector<Option> request_options(RequestArguments& arguments);

// Whose certificates are believed.
struct TrustArguments {
  std::string ca_file;  // empty: the system's authorities
  bool insecure = false;
};
std::vector<Option> trust_options(TrustArguments& trust);

// Reads files. Errc::invalid says what is wrong. Without a Content-Type, a body that begins like a JSON
// object or array is application/json, any other application/x-www-form-urlencoded.
Result<client::Request> make_request(const RequestArguments& arguments);

// "500ms", "30s", "10m"
Result<Duration> parse_duration(const std::string& option, const std::string& text);

}  // namespace onceward::cli
