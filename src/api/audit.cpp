#include "api/audit.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <queue>

#include "base/await.hpp"
#include "base/sha256.hpp"
#include "base/time_text.hpp"
#include "core/fingerprint.hpp"
#include "core/scope.hpp"

namespace onceward {
namespace {

namespace json = boost::json;

// Nobody takes an entry over, so its lease only tells for how long its writer is believed to be at work.
constexpr Duration lease = std::chrono::minutes(1);
constexpr std::size_t page_records = 1000;

json::object parsed(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return !error && value.is_object() ? value.as_object() : json::object();
}

// What was written ahead, with the outcome on top when there is one.
json::object entry_of(const Record& record) {
  json::object entry = parsed(record.response ? record.response->body : record.request->key_hint);
  if (!record.response) entry["outcome"] = "unknown";
  entry["id"] = to_string(record.operation_id);
  return entry;
}

bool is_about(const json::object& entry, const std::string& operation_id) {
  const json::value* about = entry.if_contains("operation_id");
  return about && about->is_string() && about->as_string() == operation_id;
}

// Identifiers carry the time in their first bits: their order is that of the entries.
struct Newest {
  bool operator()(const Record& a, const Record& b) const { return a.operation_id > b.operation_id; }
};

}  // namespace

Task<Result<Record>> Audit::begin(Executor& executor, json::object entry, Duration ttl) {
  entry["at"] = time_text(clock_.now());
  std::array<std::uint8_t, 34> chance;
  random_.fill(chance);
  ClaimRequest request;
  std::copy_n(chance.begin(), request.scope.data.size(), request.scope.data.begin());
  last_ = std::max(clock_.now(), last_ + Duration(1));
  request.operation_id =
      make_operation_id(request.scope, last_, static_cast<std::uint16_t>(chance[32] | chance[33] << 8));
  random_.fill(request.owner.data);
  request.start = State::claimed;
  // The claim is all that is durable before the change, so what is to be done travels in it.
  const std::string text = json::serialize(entry);
  request.fingerprint = {fingerprint_version, Digest{sha256(text)}};
  RequestInfo info;
  info.operation = audit_operation;
  info.key_hint = text;
  request.request = std::make_shared<const RequestInfo>(std::move(info));
  request.lease = lease;
  request.max_hold = lease;
  request.ttl = ttl;
  Result<ClaimReply> reply = Error{};
  for (int attempt = 0; attempt < 2; ++attempt) {  // idempotent by owner (I10)
    reply = co_await store_call<ClaimReply>(executor, [&](auto& r) { return store_.claim(request, r); });
    if (reply || reply.error().code != Errc::unavailable) break;
  }
  if (!reply) co_return reply.error();
  if (!reply->granted) co_return Error{Errc::conflict, "the audit entry could not be written"};
  co_return std::move(reply->record);
}

Task<> Audit::end(Executor& executor, Record open, std::string_view outcome, json::object details) {
  json::object entry = parsed(open.request->key_hint);
  for (auto& [name, value] : details) entry[name] = std::move(value);
  entry["outcome"] = outcome;
  auto response = std::make_shared<Response>();
  response->status = 200;
  response->body = json::serialize(entry);
  CompleteRequest request;
  request.fence = fence_of(open);
  request.as = State::succeeded;
  request.response = std::move(response);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Result<Record> done =
        co_await store_call<Record>(executor, [&](auto& r) { return store_.complete(request, r); });
    if (done || done.error().code != Errc::unavailable) break;
  }
}

Task<Result<AuditPage>> Audit::list(Executor& executor, AuditQuery query) {
  // Stores list in an order of their own; the newest are kept on the way, the oldest of them on top.
  std::priority_queue<Record, std::vector<Record>, Newest> newest;
  ListRequest request;
  request.operation = audit_operation;
  request.limit = page_records;
  do {
    const Result<ListReply> reply =
        co_await store_call<ListReply>(executor, [&](auto& r) { return store_.list(request, r); });
    if (!reply) co_return reply.error();
    for (const Record& record : reply->records) {
      if (query.before && record.operation_id >= *query.before) continue;
      if (query.about && !is_about(parsed(record.request->key_hint), *query.about)) continue;
      newest.push(record);
      if (newest.size() > query.limit + 1) newest.pop();
    }
    request.cursor = reply->cursor;
    if (!request.cursor.empty()) co_await SleepUntil(executor, clock_.mono());  // let others have a turn
  } while (!request.cursor.empty());
  AuditPage page;
  const bool more = newest.size() > query.limit;
  if (more) newest.pop();
  if (more && !newest.empty()) page.next = newest.top().operation_id;
  for (; !newest.empty(); newest.pop()) {
    // A list may leave out what was answered, and the outcome is there.
    const Result<Record> whole =
        co_await store_call<Record>(executor, [&](auto& r) { return store_.lookup(newest.top().scope, r); });
    if (whole) page.entries.push_back(entry_of(*whole));
    if (!whole && whole.error().code != Errc::not_found) co_return whole.error();
  }
  std::ranges::reverse(page.entries);
  co_return page;
}

}  // namespace onceward
