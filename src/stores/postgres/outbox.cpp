#include "stores/postgres/outbox.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "stores/postgres/text.hpp"

namespace onceward::postgres {
namespace {

constexpr std::size_t page_max = 10'000;

#define ONCEWARD_EVENT_COLUMNS                                                                         \
  "o.sequence, o.scope, o.id, o.type, o.content_type, o.payload, o.created_at, o.due_at, o.attempts, " \
  "o.last_error, o.set_aside"

constexpr const char* list_events_sql =
    "SELECT " ONCEWARD_EVENT_COLUMNS
    " FROM onceward.outbox o WHERE o.sequence > $1 AND (NOT $2 OR o.set_aside) ORDER BY o.sequence LIMIT $3";

std::int64_t bounded(std::size_t wanted) {
  return static_cast<std::int64_t>(std::clamp<std::size_t>(wanted, 1, page_max));
}

std::vector<std::string> texts(const std::vector<std::string>& values) {
  std::vector<std::string> spelled;
  spelled.reserve(values.size());
  for (const std::string& value : values) spelled.push_back(to_text(value));
  return spelled;
}

std::string read_text(Row& row) {
  std::optional<std::string> text = from_text(row.bytes());
  if (text) return std::move(*text);
  row.fail();
  return {};
}

Error no_answer() { return {Errc::unreadable, "the outbox has a row with a value that no event has"}; }

// False: it cannot be read; what is known is its place, and its id as far as that goes.
bool read_event(Row row, PendingEvent& pending) {
  pending.sequence = static_cast<std::uint64_t>(row.big());
  row.fixed(pending.scope.data);
  const std::string_view spelled = row.bytes();
  const std::optional<std::string> id = from_text(spelled);
  if (!id) row.fail();
  pending.event.id = id.value_or(std::string(spelled));
  pending.event.type = read_text(row);
  pending.event.content_type = read_text(row);
  pending.event.payload = row.bytes();
  pending.created_at = row.time();
  pending.due_at = row.time();
  pending.attempts = static_cast<std::uint32_t>(row.number());
  pending.last_error = read_text(row);
  pending.set_aside = row.flag();
  return row.ok();
}

Result<std::size_t> read_count(Row& row) {
  const std::int64_t count = row.big();
  if (!row.ok()) return no_answer();
  return static_cast<std::size_t>(count);
}

}  // namespace

// The time is one that does not change within the statement: a condition with a volatile function would not
// be looked for in the index.
const char* const fetch_events_sql =
    "SELECT " ONCEWARD_EVENT_COLUMNS
    " FROM onceward.outbox o WHERE o.partition = $1::smallint AND NOT o.set_aside AND o.ready_at <= "
    "coalesce(timestamptz 'epoch' + $3::bigint * interval '1 millisecond', now()) "
    "ORDER BY o.ready_at, o.sequence LIMIT $2";

Statement fetch_events_statement(const FetchEventsRequest& request, TestTime now) {
  Statement statement(fetch_events_sql);
  statement.number(request.partition).big(bounded(request.limit)).optional_big(now);
  return statement;
}

Statement settle_events_statement(const SettleEventsRequest& request, TestTime now) {
  Statement statement(
      "SELECT verdict, settled FROM onceward.settle_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
  statement.bytes(request.relay.scope).uuid(request.relay.operation_id);
  statement.big(static_cast<std::int64_t>(request.relay.epoch)).uuid(request.relay.owner);
  statement.texts(texts(request.delivered));
  std::vector<std::string> ids, errors;
  std::vector<std::int64_t> retry_after;
  std::vector<bool> set_aside;
  for (const FailedEvent& failed : request.failed) {
    ids.push_back(to_text(failed.id));
    errors.push_back(to_text(failed.error));
    retry_after.push_back(failed.retry_after.count());
    set_aside.push_back(failed.set_aside);
  }
  statement.texts(ids).texts(errors).bigs(retry_after).flags(set_aside).optional_big(now);
  return statement;
}

Result<Statement> list_events_statement(const ListEventsRequest& request) {
  std::int64_t after = 0;
  const std::string& cursor = request.cursor;
  if (!cursor.empty()) {
    const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), after);
    if (error != std::errc{} || end != cursor.data() + cursor.size())
      return Error{Errc::invalid, "the cursor is not one of this store's"};
  }
  Statement statement(list_events_sql);
  statement.big(after).flag(request.set_aside_only).big(bounded(request.limit));
  return statement;
}

Statement retry_events_statement(const RetryEventsRequest& request, TestTime now) {
  Statement statement("SELECT onceward.retry_events($1, $2)");
  if (request.ids.empty()) {
    statement.no_texts();
  } else {
    statement.texts(texts(request.ids));
  }
  statement.optional_big(now);
  return statement;
}

Statement outbox_stats_statement() {
  return Statement("SELECT pending, set_aside, oldest FROM onceward.outbox_stats()");
}

FetchedEvents read_fetched_events(const PGresult& result, std::size_t limit) {
  FetchedEvents fetched;
  std::set<Scope> held_up;
  for (int i = 0; i < PQntuples(&result) && fetched.events.size() < limit; ++i) {
    PendingEvent event;
    if (!read_event(Row(result, i), event)) held_up.insert(event.scope);
    if (held_up.contains(event.scope)) {
      ++fetched.held_up;
    } else {
      fetched.events.push_back(std::move(event));
    }
  }
  // Within one scope it is the order that they have; between scopes the order of writing is the fairer one.
  std::ranges::sort(fetched.events, {}, &PendingEvent::sequence);
  return fetched;
}

Result<std::size_t> read_settled_events(const PGresult& result) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  if (row.bytes() == "stale") return Error{Errc::stale, "the relay's claim is not the current one"};
  return read_count(row);
}

Result<ListEventsReply> read_listed_events(const PGresult& result, const ListEventsRequest& request) {
  ListEventsReply page;
  for (int i = 0; i < PQntuples(&result); ++i) {
    PendingEvent& event = page.events.emplace_back();
    if (!read_event(Row(result, i), event)) event.last_error = "it cannot be read";
  }
  if (static_cast<std::int64_t>(page.events.size()) == bounded(request.limit))
    page.cursor = std::to_string(page.events.back().sequence);
  return page;
}

Result<std::size_t> read_retried_events(const PGresult& result) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  return read_count(row);
}

Result<OutboxStats> read_outbox_stats(const PGresult& result) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  OutboxStats stats;
  stats.pending = static_cast<std::uint64_t>(row.big());
  stats.set_aside = static_cast<std::uint64_t>(row.big());
  stats.oldest_pending = row.optional_time();
  if (!row.ok()) return no_answer();
  return stats;
}

}  // namespace onceward::postgres
