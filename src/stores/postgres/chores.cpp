#include "stores/postgres/chores.hpp"

#include <algorithm>

#include "base/hex.hpp"
#include "core/transition.hpp"
#include "stores/postgres/record_row.hpp"
#include "stores/postgres/text.hpp"

namespace onceward::postgres {
namespace {

constexpr std::size_t page_max = 10'000;

// Without responses: a page of them could be gigabytes. Whoever wants one looks its record up.
constexpr const char* list_sql =
    "SELECT onceward.clock($7), " ONCEWARD_COLUMNS_BEFORE_RESPONSE(
        "r.") ", null::integer, null::bytea, null::bytea, false "
    "FROM onceward.records r WHERE r.scope > $1 "
    "AND ($2::text IS NULL OR onceward.state_at(r, onceward.clock($7))::text = $2) "
    // What is open now was stored as open: with this, a question for it needs the index of open records only.
    "AND ($2::text IS NULL OR $2 NOT IN ('claimed', 'processing', 'unknown') "
    "     OR r.state IN ('claimed', 'processing', 'unknown')) "
    "AND ($3::text IS NULL OR (left(r.operation, 100) = left($3, 100) AND r.operation = $3)) "
    "AND ($4::text IS NULL OR (left(r.tenant, 100) = left($4, 100) AND r.tenant = $4)) "
    "AND ($5::bigint IS NULL OR r.updated_at < onceward.clock($5) OR r.state = 'processing' "
    "     OR r.state IN ('succeeded', 'failed')) "
    "AND ($8::text IS NULL OR (left(r.reference, 100) = left($8, 100) AND r.reference = $8)) "
    "AND NOT onceward.is_gone(r, onceward.clock($7)) "
    "ORDER BY r.scope LIMIT $6";
// Open records by their index, exactly. Of the others a sample of pages once there are very many: a scrape
// must not read a table of millions.
constexpr const char* count_sql =
    "WITH clock AS MATERIALIZED (SELECT onceward.clock($1) AS now), "
    "share AS MATERIALIZED (SELECT least(1.0, 200000 / greatest(reltuples, 1)) AS of_all FROM pg_class "
    "  WHERE oid = 'onceward.records'::regclass), "
    "open AS (SELECT r.operation, onceward.state_at(r, clock.now) AS state, count(*) AS n "
    "  FROM onceward.records r, clock WHERE r.state IN ('claimed', 'processing', 'unknown') GROUP BY 1, 2), "
    "ended AS (SELECT r.operation, onceward.state_at(r, clock.now) AS state, count(*) AS n "
    "  FROM onceward.records r TABLESAMPLE SYSTEM ((SELECT 100 * of_all FROM share)), clock "
    "  WHERE r.state NOT IN ('claimed', 'processing', 'unknown') AND NOT onceward.is_gone(r, clock.now) "
    "  GROUP BY 1, 2) "
    "SELECT operation, state::text, n FROM open UNION ALL "
    "SELECT operation, state::text, round(n / share.of_all)::bigint FROM ended, share";
constexpr const char* list_marks_sql =
    "SELECT m.mark, m.kind::text, m.scope, m.operation_id, m.until FROM onceward.marks m "
    "WHERE m.mark > $1 AND m.until > onceward.clock($3) ORDER BY m.mark LIMIT $2";
// Mirrors `takes_mark`; $1 to $6: mark, kind, holder's scope and operation id, end, now.
#define ONCEWARD_UNTIL "(timestamptz 'epoch' + $5 * interval '1 millisecond')"
#define ONCEWARD_TAKES_MARK                                                                               \
  "CASE WHEN m.scope = $3 AND m.operation_id = $4 AND m.until IS NOT NULL THEN m.until < " ONCEWARD_UNTIL \
  " ELSE (onceward.standing_mark(m.mark, ''::bytea, $4, onceward.clock($6))).mark IS NULL END"
constexpr const char* adopt_mark_sql =
    "WITH put AS (INSERT INTO onceward.marks AS m (mark, kind, scope, operation_id, since, until) "
    "SELECT $1, $2::onceward.mark_kind, $3, $4, onceward.clock($6), " ONCEWARD_UNTIL
    " WHERE onceward.clock($6) < " ONCEWARD_UNTIL
    " ON CONFLICT (mark) DO UPDATE SET kind = excluded.kind, scope = excluded.scope, "
    "operation_id = excluded.operation_id, since = excluded.since, until = excluded.until "
    "WHERE " ONCEWARD_TAKES_MARK " RETURNING 1) SELECT count(*) > 0 FROM put";
constexpr const char* ask_mark_sql =
    "SELECT onceward.clock($6) < " ONCEWARD_UNTIL " AND coalesce((SELECT " ONCEWARD_TAKES_MARK
    " FROM onceward.marks m WHERE m.mark = $1), true)";
#undef ONCEWARD_TAKES_MARK
#undef ONCEWARD_UNTIL
constexpr const char* purge_sql =
    "SELECT looked_at, removed, receipts, null::bytea FROM onceward.purge($1, $2)";
constexpr const char* purge_named_sql =
    "SELECT looked_at, removed, receipts, reached FROM onceward.purge_named($1, $2, $3, $4, $5, $6, $7)";

std::optional<std::string> name_filter(const std::optional<std::string>& name) {
  return name ? std::optional(to_text(*name)) : std::nullopt;
}

std::optional<std::int64_t> milliseconds(const std::optional<Timestamp>& time) {
  return time ? std::optional(time->time_since_epoch().count()) : std::nullopt;
}

// A cursor is the last scope of the page before it.
std::optional<std::string> after_cursor(std::string_view cursor) {
  if (cursor.empty()) return "";
  Scope scope;
  if (!from_hex(cursor, scope.data)) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(scope.data.data()), scope.data.size());
}

Error not_our_cursor() { return {Errc::invalid, "the cursor is not one of this store's"}; }

bool is_operators(const PurgeRequest& request) {
  return request.final_too || request.operation || request.tenant || request.updated_before;
}

std::int32_t bounded(std::size_t wanted) {
  return static_cast<std::int32_t>(std::clamp<std::size_t>(wanted, 1, page_max));
}

Error no_answer() { return {Errc::unreadable, "the store's function answered with something else"}; }

}  // namespace

Result<Statement> list_statement(const ListRequest& request, TestTime now) {
  std::optional<std::string> after = after_cursor(request.cursor);
  if (!after) return not_our_cursor();
  Statement statement(list_sql);
  statement.own_bytes(std::move(*after));
  statement.optional_text(request.state ? std::optional(std::string(to_string(*request.state)))
                                        : std::nullopt);
  statement.optional_text(name_filter(request.operation)).optional_text(name_filter(request.tenant));
  statement.optional_big(milliseconds(request.updated_before));
  statement.big(bounded(request.limit)).optional_big(now);
  // The empty reference is that of records that have none.
  statement.optional_text(request.reference && request.reference->empty() ? std::nullopt
                                                                          : name_filter(request.reference));
  return statement;
}

Result<Statement> list_marks_statement(const ListMarksRequest& request, TestTime now) {
  std::optional<std::string> after = after_cursor(request.cursor);
  if (!after) return not_our_cursor();
  Statement statement(list_marks_sql);
  statement.own_bytes(std::move(*after)).number(bounded(request.limit)).optional_big(now);
  return statement;
}

Statement adopt_mark_statement(const AdoptMarkRequest& request, TestTime now) {
  const MarkEntry& copy = request.copy;
  Statement statement(request.only_ask ? ask_mark_sql : adopt_mark_sql);
  statement.bytes(copy.scope).word(copy.holder.kind == MarkKind::unique ? "unique" : "suspect");
  statement.bytes(copy.holder.scope).uuid(copy.holder.operation_id);
  // Without an end it comes with its record: then it is over here.
  statement.big(copy.until.value_or(Timestamp{}).time_since_epoch().count()).optional_big(now);
  return statement;
}

Result<Statement> purge_statement(const PurgeRequest& request, TestTime now) {
  if (!is_operators(request)) {
    Statement statement(purge_sql);
    statement.number(bounded(request.chunk)).optional_big(now);
    return statement;
  }
  std::optional<std::string> after = after_cursor(request.cursor);
  if (!after) return not_our_cursor();
  Statement statement(purge_named_sql);
  statement.number(bounded(request.chunk)).own_bytes(std::move(*after)).flag(request.final_too);
  statement.optional_text(name_filter(request.operation)).optional_text(name_filter(request.tenant));
  statement.optional_big(milliseconds(request.updated_before)).optional_big(now);
  return statement;
}

Statement stats_statement(TestTime now) {
  Statement statement("SELECT records, open_records, bytes, purge_lag_ms FROM onceward.stats($1)");
  statement.optional_big(now);
  return statement;
}

Statement count_statement(TestTime now) {
  Statement statement(count_sql);
  statement.optional_big(now);
  return statement;
}

Statement watch_statement(const Scope& scope) {
  Statement statement("SELECT onceward.watch($1)");
  statement.own_bytes({reinterpret_cast<const char*>(scope.data.data()), scope.data.size()});
  return statement;
}

Result<ListReply> read_list(const PGresult& result, const ListRequest& request,
                            std::atomic<std::uint64_t>& passed_over) {
  ListReply page;
  const int rows = PQntuples(&result);
  for (int i = 0; i < rows; ++i) {
    Row row(result, i);
    const Timestamp now = row.time();
    Result<Record> stored = read_record(row);
    // One bad row must not hide the others; whoever asks for it by name gets the error (I5).
    if (!stored) {
      ++passed_over;
      continue;
    }
    std::optional<Record> record = settle(*stored, now);
    if (record && matches(request, *record)) page.records.push_back(std::move(*record));
  }
  if (rows == bounded(request.limit)) {
    const char* last = PQgetvalue(&result, rows - 1, 1);
    const auto length = static_cast<std::size_t>(PQgetlength(&result, rows - 1, 1));
    page.cursor = to_hex({reinterpret_cast<const std::uint8_t*>(last), length});
  }
  return page;
}

Result<ListMarksReply> read_marks(const PGresult& result, const ListMarksRequest& request) {
  ListMarksReply page;
  for (int i = 0; i < PQntuples(&result); ++i) {
    Row row(result, i);
    MarkEntry entry;
    row.fixed(entry.scope.data);
    entry.holder.kind = row.bytes() == "suspect" ? MarkKind::suspect : MarkKind::unique;
    row.fixed(entry.holder.scope.data);
    row.fixed(entry.holder.operation_id.data);
    entry.until = row.time();
    if (!row.ok()) return no_answer();
    page.marks.push_back(entry);
  }
  if (static_cast<std::int32_t>(page.marks.size()) == bounded(request.limit))
    page.cursor = to_hex(page.marks.back().scope.data);
  return page;
}

Result<bool> read_adopted_mark(const PGresult& result) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  const bool taken = row.flag();
  if (!row.ok()) return no_answer();
  return taken;
}

Result<PurgeReply> read_purge(const PGresult& result, const PurgeRequest& request) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  PurgeReply reply;
  const std::int64_t looked_at = row.big();
  reply.removed = static_cast<std::size_t>(row.big());
  reply.receipts = static_cast<std::size_t>(row.big());
  const std::string_view reached = row.optional_bytes().value_or("");
  if (!row.ok()) return no_answer();
  if (looked_at < bounded(request.chunk)) return reply;
  reply.cursor = is_operators(request)
                     ? to_hex({reinterpret_cast<const std::uint8_t*>(reached.data()), reached.size()})
                     : "more";
  return reply;
}

Result<StoreStats> read_stats(const PGresult& result) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  StoreStats stats;
  stats.records = static_cast<std::uint64_t>(row.big());
  stats.open_records = static_cast<std::uint64_t>(row.big());
  stats.bytes = static_cast<std::uint64_t>(row.big());
  stats.purge_lag = Duration(row.big());
  if (!row.ok()) return no_answer();
  return stats;
}

Result<std::vector<StateCount>> read_counts(const PGresult& result) {
  std::vector<StateCount> counts;
  for (int i = 0; i < PQntuples(&result); ++i) {
    Row row(result, i);
    const std::optional<std::string> operation = from_text(row.bytes());
    const std::optional<State> state = state_from_string(row.bytes());
    const std::int64_t count = row.big();
    if (!row.ok() || !state) return no_answer();
    // A name that cannot be read belongs to a record that cannot be read.
    if (operation) counts.push_back({*operation, *state, static_cast<std::uint64_t>(count)});
  }
  return counts;
}

bool read_watch(const PGresult& result) {
  if (PQntuples(&result) != 1) return false;
  Row row(result, 0);
  return row.flag();
}

}  // namespace onceward::postgres
