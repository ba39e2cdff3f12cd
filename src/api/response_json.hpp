// Stored answers as JSON, read and written: {status, headers: [[name, value], …], body: base64}, or `json`
// instead of `body`. What is read can be replayed by the proxy: no header can carry another one, or the
// message's framing. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <memory>

#include "api/json_body.hpp"
#include "onceward/values.hpp"

namespace onceward {

// Nothing when the member is absent or wrong; then the body says what.
std::shared_ptr<const Response> read_response(JsonObject& parent, std::size_t body_bytes_max);

// The member `body` (base64) or `json` (as written); nothing when neither is there.
struct GivenBody {
  std::string bytes;
  bool is_json = false;
};
std::optional<GivenBody> read_given_body(JsonObject& object, std::size_t bytes_max);

boost::json::object response_json(const Response& response);

}  // namespace onceward
