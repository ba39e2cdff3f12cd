#include "proxy/capture.hpp"

#include <charconv>

#include "core/operation_result.hpp"
#include "http/hop_by_hop.hpp"
#include "http/response_writer.hpp"

namespace onceward {
namespace {

using http::append_line;
using http::same_name;

bool is_framing(std::string_view name) {
  return same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") ||
         same_name(name, "Trailer");
}

// What only we may say to the client.
bool is_ours(std::string_view name) {
  return same_name(name, "Onceward-Operation-Id") || same_name(name, "Onceward-Stored");
}

std::optional<OutcomeClass> outcome_from(std::string_view text) {
  if (text == "replay") return OutcomeClass::replay;
  if (text == "retry") return OutcomeClass::retry;
  if (text == "unknown") return OutcomeClass::unknown;
  return std::nullopt;
}

// A hundred years is for ever; more would only overflow.
constexpr std::int64_t ttl_seconds_max = std::int64_t{100} * 365 * 24 * 3600;

std::optional<Duration> ttl_from(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || seconds <= 0 || seconds > ttl_seconds_max) return std::nullopt;
  return std::chrono::seconds(seconds);
}

void keep(std::shared_ptr<OperationResult>& result, const OperationResult& said) {
  if (!result) result = std::make_shared<OperationResult>();
  if (!said.resource_id.empty()) {
    result->resource_type = said.resource_type;
    result->resource_id = said.resource_id;
  }
  if (!said.failure_code.empty()) result->failure_code = said.failure_code;
}

// What the upstream says of the result in so many words goes before what its Location means.
void read_result(const http::ResponseHead& head, CapturedHead& captured) {
  OperationResult said;
  const std::optional<std::string_view> location = head.headers.find("Location");
  if (location && head.status < 300 && read_location(*location, said)) keep(captured.result, said);
  const std::optional<std::string_view> resource = head.headers.find("Onceward-Resource");
  if (resource && read_resource(*resource, said)) keep(captured.result, said);
  const std::optional<std::string_view> failure = head.headers.find("Onceward-Failure");
  if (failure && head.status >= 400 && is_showable(*failure, failure_code_bytes_max)) {
    said.failure_code = *failure;
    keep(captured.result, said);
  }
}

template <class Visit>
void for_each_line(std::string_view lines, Visit visit) {
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos && visit(line.substr(0, colon), line.substr(colon + 2))) return;
  }
}

}  // namespace

bool is_control(std::string_view name) {
  return same_name(name, "Onceward-Outcome") || same_name(name, "Onceward-Ttl") ||
         same_name(name, "Onceward-Resource") || same_name(name, "Onceward-Failure");
}

CapturedHead capture_head(const http::ResponseHead& head, const Policy& policy) {
  CapturedHead captured;
  captured.outcome = policy.outcomes.of(head.status);
  const http::HopByHop hop_by_hop(head.headers, {});
  std::size_t bytes = 0;
  for (const http::HeaderView& header : head.headers) bytes += header.name.size() + header.value.size() + 4;
  captured.first_lines.reserve(bytes);
  captured.stored_lines.reserve(bytes);
  bool says_result = false;
  for (const http::HeaderView& header : head.headers) {
    if (same_name(header.name, "Onceward-Outcome")) {
      captured.outcome = outcome_from(header.value).value_or(captured.outcome);
    } else if (same_name(header.name, "Onceward-Ttl")) {
      captured.ttl = ttl_from(header.value);
    } else if (same_name(header.name, "Location") || same_name(header.name, "Onceward-Resource") ||
               same_name(header.name, "Onceward-Failure")) {
      says_result = true;
    }
    if (is_control(header.name) || is_ours(header.name) || is_framing(header.name)) continue;
    if (hop_by_hop.drops(header.name)) continue;
    append_line(captured.first_lines, header.name, header.value);
    if (same_name(header.name, "Date")) continue;
    if (same_name(header.name, "Set-Cookie") && !policy.replay.keep_cookies) continue;
    append_line(captured.stored_lines, header.name, header.value);
  }
  if (says_result) read_result(head, captured);
  return captured;
}

std::shared_ptr<const OperationResult> result_of(const CapturedHead& head, int status,
                                                 std::string_view body) {
  if (status < 400 || (head.result && !head.result->failure_code.empty())) return head.result;
  const std::string_view type = line_value(head.stored_lines, "Content-Type").value_or("");
  if (!same_name(type.substr(0, type.find(';')), "application/problem+json")) return head.result;
  OperationResult said = head.result ? *head.result : OperationResult{};
  said.failure_code = failure_code_of_problem(body);
  if (said.failure_code.empty()) return head.result;
  return std::make_shared<const OperationResult>(std::move(said));
}

std::optional<std::string_view> line_value(std::string_view lines, std::string_view name) {
  std::optional<std::string_view> found;
  for_each_line(lines, [&](std::string_view line_name, std::string_view value) {
    if (!same_name(line_name, name)) return false;
    found = value;
    return true;
  });
  return found;
}

std::string location_line(std::string_view stored_lines) {
  std::string line;
  if (const auto location = line_value(stored_lines, "Location")) append_line(line, "Location", *location);
  return line;
}

int replay_status(int stored_status, const ReplayPolicy& policy) {
  return policy.status_200 && stored_status == 201 ? 200 : stored_status;
}

void append_replay_lines(std::string& lines, const Response& response, const ReplayPolicy& policy) {
  if (!line_value(response.headers, policy.header)) {
    lines.append(response.headers);
  } else {
    for_each_line(response.headers, [&](std::string_view name, std::string_view value) {
      if (!same_name(name, policy.header)) append_line(lines, name, value);
      return false;
    });
  }
  append_line(lines, policy.header, "true");
}

}  // namespace onceward
