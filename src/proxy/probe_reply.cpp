#include "proxy/probe_reply.hpp"

#include <algorithm>

#include "core/json_slice.hpp"
#include "proxy/capture.hpp"

namespace onceward {
namespace {

ProbeAnswer applied(ProbeReply reply, const ProbePolicy& policy) {
  Response response;
  response.status = static_cast<std::uint16_t>(policy.status != 0 ? policy.status : reply.status);
  response.body_omitted = reply.body_omitted;
  if (reply.body_omitted) {
    response.headers = location_line(reply.lines);
  } else if (policy.response.empty()) {
    response.headers = std::move(reply.lines);
    response.body = std::move(reply.body);
  } else {
    const Result<std::string_view> part = json_slice(reply.body, policy.response);
    if (!part) return CannotTell{"the answer has no " + policy.response + ": " + part.error().message};
    response.headers = "Content-Type: application/json\r\n";
    response.body = *part;
  }
  return Applied{std::make_shared<const Response>(std::move(response)), std::move(reply.result)};
}

}  // namespace

ProbeAnswer read_probe_reply(ProbeReply reply, const ProbePolicy& policy) {
  if (std::ranges::find(policy.applied, reply.status) != policy.applied.end())
    return applied(std::move(reply), policy);
  if (std::ranges::find(policy.not_applied, reply.status) != policy.not_applied.end()) return NotApplied{};
  return CannotTell{"status " + std::to_string(reply.status)};
}

}  // namespace onceward
