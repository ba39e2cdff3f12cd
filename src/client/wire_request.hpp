// WireRequest: a request checked and turned into the bytes of every attempt, and its digests, by which an
// intent knows it again. Pure.
#pragma once

#include <string>

#include "onceward/client.hpp"

namespace onceward::client {

struct WireRequest {
  std::string origin;  // http://host:port, what connections are pooled by
  std::string method;
  std::string head;  // with the empty line
  std::string body;
  std::string request;   // digest of method, URL, content type and body
  std::string identity;  // digest of the identity headers
};

// Errc::invalid says what is wrong with it.
Result<WireRequest> make_wire_request(const Request& request, const std::string& key,
                                      const ClientOptions& options);

}  // namespace onceward::client
