// Capture: from the upstream's answer to what the first caller gets and what is kept for replays, and
// back from a kept response to a replay's header lines. Pure; header lines are "Name: value\r\n".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/policy.hpp"
#include "http/head.hpp"
#include "onceward/values.hpp"

namespace onceward {

struct CapturedHead {
  std::string first_lines;   // for the first caller: as sent, without hop-by-hop lines and our own controls
  std::string stored_lines;  // for replays: also without Date, framing and, by default, Set-Cookie
  OutcomeClass outcome = OutcomeClass::replay;
  std::optional<Duration> ttl;
  std::shared_ptr<OperationResult> result;  // what the upstream says it came to; null: nothing
};

// What an upstream says to us and not to the client.
bool is_control(std::string_view name);

CapturedHead capture_head(const http::ResponseHead& head, const Policy& policy);

// The result of a final answer: what its head says, and of a failure also what its body does. Null: nothing.
std::shared_ptr<const OperationResult> result_of(const CapturedHead& head, int status, std::string_view body);

// The stored lines of an answer too large to keep: only where the result is.
std::string location_line(std::string_view stored_lines);
// The value of the first line of that name, or nothing.
std::optional<std::string_view> line_value(std::string_view lines, std::string_view name);

// Status and lines of a replay.
int replay_status(int stored_status, const ReplayPolicy& policy);
void append_replay_lines(std::string& lines, const Response& response, const ReplayPolicy& policy);

}  // namespace onceward
