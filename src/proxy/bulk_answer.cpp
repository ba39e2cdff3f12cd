#include "proxy/bulk_answer.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/base64.hpp"
#include "base/json_text.hpp"
#include "core/json_tape.hpp"
#include "core/media_type.hpp"
#include "ops/problem.hpp"
#include "proxy/capture.hpp"

namespace onceward {
namespace {

std::string_view text_of(ProblemCode code) { return problem_kind(code).text; }

ItemState final_state(int status) { return status < 400 ? ItemState::succeeded : ItemState::failed; }

ItemState state_of(const Answer& answer) {
  switch (answer.outcome) {
    case OutcomeClass::replay:
      return final_state(answer.response->status);
    case OutcomeClass::retry:
      return ItemState::retryable;
    case OutcomeClass::unknown:
      return ItemState::unknown;
  }
  return ItemState::unknown;
}

ItemResult answered(const Answer& answer) {
  return {.state = state_of(answer), .status = answer.response->status, .response = answer.response};
}

ItemResult of_effect(const Effect& effect) {
  if (const auto* answer = std::get_if<Answer>(&effect)) return answered(*answer);
  if (std::holds_alternative<NotSent>(effect)) return {.code = text_of(ProblemCode::upstream_unreachable)};
  return {.state = ItemState::unknown, .code = text_of(ProblemCode::outcome_unknown)};
}

ItemResult of_final(const Record& record) {
  ItemResult result{.state = record.state == State::succeeded ? ItemState::succeeded : ItemState::failed,
                    .response = record.response};
  if (record.response) result.status = record.response->status;
  return result;
}

}  // namespace

ItemResult expired_item() {
  return {.state = ItemState::expired, .code = text_of(ProblemCode::record_expired)};
}

namespace {

// Of one that has succeeded, whether its record is still there or not, that is final. Of any other nobody
// knows yet whether its fact will have come true.
ItemResult duplicate(const Record& first) {
  const bool came_true = first.epoch == 0 || first.state == State::succeeded || first.state == State::expired;
  return {.state = came_true ? ItemState::failed : ItemState::retryable,
          .operation_id = to_string(first.operation_id),
          .code = text_of(ProblemCode::duplicate_business_operation)};
}

ItemResult of_rejection(const Rejected& rejected) {
  switch (rejected.why) {
    case Rejection::unknown:
      return {.state = ItemState::unknown, .code = text_of(ProblemCode::outcome_unknown)};
    case Rejection::expired:
      return expired_item();
    case Rejection::not_stored: {
      ItemResult result = of_final(rejected.record);
      result.code = text_of(ProblemCode::response_not_stored);
      return result;
    }
    case Rejection::duplicate_fact:
      return duplicate(rejected.record);
    case Rejection::suspected:  // until the caller confirms that it is meant
      return {.code = text_of(ProblemCode::suspected_duplicate)};
    case Rejection::mismatch:
      break;
  }
  return {.state = ItemState::failed, .code = text_of(ProblemCode::key_reused)};
}

ItemResult with_record(ItemResult result, const Record& record) {
  if (record.epoch != 0) result.operation_id = to_string(record.operation_id);
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_json(const Response& response) {
  const std::string_view type = line_value(response.headers, "Content-Type").value_or("");
  JsonTape tape;
  return parse_media_type(type).kind == BodyKind::json && tape.parse(response.body);
}

// JSON as it came, other text as a string, anything else as base64, which is then said.
void append_body(std::string& out, const ItemResult& result, bool with_bodies) {
  out += ",\"body\":";
  if (!with_bodies || !result.response || result.response->body.empty()) {
    out += "null";
  } else if (is_json(*result.response)) {
    out += result.response->body;
  } else if (is_utf8(result.response->body)) {
    append_json_string(out, result.response->body);
  } else {
    append_json_string(out, to_base64(result.response->body));
    out += ",\"bodyEncoding\":\"base64\"";
  }
}

void append_text_or_null(std::string& out, std::string_view text) {
  if (text.empty()) {
    out += "null";
  } else {
    append_json_string(out, text);
  }
}

void append_item(std::string& out, const BulkItem& item, const ItemResult& result, bool with_bodies) {
  out.append("{\"id\":").append(item.id_json).append(",\"state\":\"").append(to_string(result.state));
  out += "\",\"status\":";
  out += result.status == 0 ? "null" : std::to_string(result.status);
  append_body(out, result, with_bodies);
  out += ",\"retryable\":";
  out += result.state == ItemState::retryable ? "true" : "false";
  out += ",\"operationId\":";
  append_text_or_null(out, result.operation_id);
  out += ",\"code\":";
  append_text_or_null(out, result.code);
  out += '}';
}

void append_summary(std::string& out, const BulkSummary& summary) {
  const auto count = [&](std::string_view name, std::size_t n) {
    out.append(",\"").append(name).append("\":").append(std::to_string(n));
  };
  out += "\"summary\":{\"total\":" + std::to_string(summary.total);
  count("succeeded", summary.succeeded);
  count("failed", summary.failed);
  count("retryable", summary.retryable);
  count("unknown", summary.unknown);
  count("expired", summary.expired);
  out += '}';
}

std::string written(std::span<const BulkItem> items, std::span<const ItemResult> results, bool with_bodies) {
  std::string out = "{\"items\":[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ',';
    append_item(out, items[i], results[i], with_bodies);
  }
  out += "],";
  append_summary(out, summarize(results));
  out += '}';
  return out;
}

}  // namespace

std::string_view to_string(ItemState state) {
  switch (state) {
    case ItemState::succeeded:
      return "succeeded";
    case ItemState::failed:
      return "failed";
    case ItemState::retryable:
      return "retryable";
    case ItemState::unknown:
      return "unknown";
    case ItemState::expired:
      return "expired";
  }
  return {};
}

ItemResult item_result(const Outcome& outcome) {
  if (const auto* executed = std::get_if<Executed>(&outcome))
    return with_record(of_effect(executed->effect), executed->record);
  if (const auto* unguarded = std::get_if<Unguarded>(&outcome)) return of_effect(unguarded->effect);
  if (const auto* replayed = std::get_if<Replayed>(&outcome))
    return with_record(of_final(replayed->record), replayed->record);
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    return with_record(of_rejection(*rejected), rejected->record);
  if (const auto* running = std::get_if<StillRunning>(&outcome))
    return with_record({.code = text_of(ProblemCode::in_progress)}, running->record);
  if (std::holds_alternative<Unreachable>(outcome))
    return {.code = text_of(ProblemCode::upstream_unreachable)};
  if (const auto* failed = std::get_if<StoreFailed>(&outcome)) {
    const bool damaged = failed->error.code == Errc::unreadable;
    return {.code = text_of(damaged ? ProblemCode::record_unreadable : ProblemCode::store_unavailable)};
  }
  return {.code = text_of(ProblemCode::key_rate_exceeded)};
}

BulkSummary summarize(std::span<const ItemResult> results) {
  BulkSummary summary;
  summary.total = results.size();
  for (const ItemResult& result : results) {
    switch (result.state) {
      case ItemState::succeeded:
        ++summary.succeeded;
        break;
      case ItemState::failed:
        ++summary.failed;
        break;
      case ItemState::retryable:
        ++summary.retryable;
        break;
      case ItemState::unknown:
        ++summary.unknown;
        break;
      case ItemState::expired:
        ++summary.expired;
        break;
    }
  }
  return summary;
}

bool nothing_was_sent(std::span<const ItemResult> results) {
  return !results.empty() && std::ranges::all_of(results, [](const ItemResult& result) {
    return result.operation_id.empty() && result.code == text_of(ProblemCode::upstream_unreachable);
  });
}

std::string bulk_answer(std::span<const BulkItem> items, std::span<const ItemResult> results,
                        std::size_t bytes_max) {
  ONCEWARD_ASSERT(items.size() == results.size());
  std::string whole = written(items, results, true);
  return whole.size() <= bytes_max ? whole : written(items, results, false);
}

}  // namespace onceward
