#include "api/purge_api.hpp"

#include "api/json_body.hpp"
#include "base/await.hpp"
#include "base/base64.hpp"
#include "base/time_text.hpp"
#include "core/reserved.hpp"

namespace onceward {
namespace {

namespace json = boost::json;

constexpr std::size_t chunk_records = 1000;
constexpr Duration time_per_call{2000};

std::optional<Timestamp> before_from(std::string_view text, Timestamp now) {
  if (const auto age = duration_from_text(text)) return now - *age;
  return time_from_text(text);
}

}  // namespace

struct PurgeApi::Wanted {
  std::optional<std::string> tenant;
  std::optional<std::string> operation;
  std::optional<Timestamp> before;
  std::string reason;
  std::string from_operation;  // where an earlier call stopped
  std::string from_cursor;

  PurgeRequest request() const {
    PurgeRequest request;
    request.chunk = chunk_records;
    request.final_too = true;
    request.tenant = tenant;
    request.operation = operation;
    request.updated_before = before;
    return request;
  }
  // A store can leave out one operation only by being told another. Our own records have no tenant.
  bool spares_reserved() const { return operation || (tenant && !tenant->empty()); }

  void read(JsonObject& object, Timestamp now) {
    tenant = object.text("tenant", 1024);
    operation = object.text("operation", 1024);
    if (operation && is_reserved_operation(*operation))
      object.fail("operation", "is kept by Onceward itself");
    if (const auto text = object.text("before", 64)) {
      before = before_from(*text, now);
      if (!before) object.fail("before", "must be a time (2026-01-31T12:00:00Z) or an age (24h)");
    }
    reason = object.text("reason", 1000).value_or("");
    if (const auto text = object.text("cursor", 4096)) {
      const auto cursor = from_base64url(*text);
      const std::size_t line = cursor ? cursor->find('\n') : std::string::npos;
      if (line == std::string::npos) return object.fail("cursor", "must come from an earlier answer");
      from_operation = cursor->substr(0, line);
      from_cursor = cursor->substr(line + 1);
    }
    object.refuse_unknown();
  }
};

struct PurgeApi::Progress {
  MonoTime stop_at{};
  std::uint64_t removed = 0;
  std::uint64_t looked_at = 0;  // at most: whole chunks
  std::string operation;        // the one being purged, when each is purged by itself
  std::string cursor;           // of the store
  bool done = false;

  json::value next() const {
    if (done) return nullptr;
    return json::value(to_base64url(operation + "\n" + cursor));
  }
};

Task<> PurgeApi::purge(ApiCall& call) {
  JsonBody body(call.body);
  Wanted wanted;
  if (auto object = body.object()) wanted.read(*object, clock_.now());
  if (!body.ok()) co_return co_await refuse_input(call, body.error());

  json::object entry;
  entry["actor"] = call.principal.name;
  entry["action"] = "purge";
  if (wanted.tenant) entry["tenant"] = *wanted.tenant;
  if (wanted.operation) entry["operation"] = *wanted.operation;
  if (wanted.before) entry["before"] = time_text(*wanted.before);
  if (!wanted.reason.empty()) entry["reason"] = wanted.reason;
  Result<Record> open = co_await audit_.begin(call.executor(), std::move(entry), call.rules->audit_ttl);
  if (!open) co_return co_await refuse_error(call, open.error());

  Progress progress;
  progress.stop_at = clock_.mono() + time_per_call;
  progress.cursor = wanted.from_cursor;
  Result<Done> done = Done{};
  if (wanted.spares_reserved()) {
    PurgeRequest request = wanted.request();
    done = co_await purge_matching(call.executor(), request, progress);
  } else {
    done = co_await purge_each_operation(call.executor(), wanted, progress);
  }
  co_await audit_.end(call.executor(), std::move(*open), done ? "applied" : "failed",
                      {{"removed", progress.removed}});
  if (!done) co_return co_await refuse_error(call, done.error());
  json::object out;
  out["removed"] = progress.removed;
  out["looked_at"] = progress.looked_at;
  out["cursor"] = progress.next();
  co_await answer(call, 200, out);
}

Task<Result<Done>> PurgeApi::purge_matching(Executor& executor, PurgeRequest& request, Progress& progress) {
  do {
    request.cursor = progress.cursor;
    const Result<PurgeReply> reply =
        co_await store_call<PurgeReply>(executor, [&](auto& r) { return store_.purge(request, r); });
    if (!reply) co_return reply.error();
    progress.removed += reply->removed;
    progress.looked_at += request.chunk;
    progress.cursor = reply->cursor;
    co_await SleepUntil(executor, clock_.mono());  // traffic goes first
  } while (!progress.cursor.empty() && clock_.mono() < progress.stop_at);
  progress.done = progress.cursor.empty();
  co_return Done{};
}

Task<Result<Done>> PurgeApi::purge_each_operation(Executor& executor, const Wanted& wanted,
                                                  Progress& progress) {
  const Result<std::set<std::string>> names = co_await operations_of(executor, wanted);
  if (!names) co_return names.error();
  progress.stop_at = clock_.mono() + time_per_call;
  for (auto name = names->lower_bound(wanted.from_operation); name != names->end(); ++name) {
    // The store's cursor belongs to the operation that it was given for.
    if (*name != wanted.from_operation) progress.cursor.clear();
    progress.operation = *name;
    PurgeRequest request = wanted.request();
    request.operation = *name;
    const Result<Done> done = co_await purge_matching(executor, request, progress);
    if (!done || !progress.done) co_return done;
  }
  progress.done = true;
  co_return Done{};
}

Task<Result<std::set<std::string>>> PurgeApi::operations_of(Executor& executor, const Wanted& wanted) {
  std::set<std::string> names;
  ListRequest request;
  request.tenant = wanted.tenant;
  request.updated_before = wanted.before;
  request.limit = chunk_records;
  do {
    const Result<ListReply> reply =
        co_await store_call<ListReply>(executor, [&](auto& r) { return store_.list(request, r); });
    if (!reply) co_return reply.error();
    for (const Record& record : reply->records) {
      if (is_final(record.state) && !is_reserved_operation(record.request->operation))
        names.insert(record.request->operation);
    }
    request.cursor = reply->cursor;
    co_await SleepUntil(executor, clock_.mono());
  } while (!request.cursor.empty());
  co_return names;
}

}  // namespace onceward
