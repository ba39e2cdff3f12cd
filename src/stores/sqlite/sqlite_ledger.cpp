#include "stores/sqlite/sqlite_ledger.hpp"

#include "core/record_codec.hpp"
#include "core/transition.hpp"
#include "stores/sqlite/sqlite_marks.hpp"
#include "stores/sqlite/sqlite_schema.hpp"

namespace onceward::sqlite {
namespace {

using api::SqlBytes;
using api::SqlConnection;
using api::SqlValue;

constexpr const char* insert_sql =
    "INSERT INTO onceward_records (scope, operation_id, operation, state, gone_at, record) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (scope) DO NOTHING";
constexpr const char* update_sql =
    "UPDATE onceward_records SET operation_id = ?2, operation = ?3, state = ?4, gone_at = ?5, record = ?6 "
    "WHERE scope = ?1";
constexpr const char* event_sql =
    "INSERT INTO onceward_outbox (id, type, content_type, payload, created_at) VALUES (?1, ?2, ?3, ?4, ?5) "
    "ON CONFLICT (id) DO NOTHING";

SqlBytes key_of(const Scope& scope) {
  return {{reinterpret_cast<const char*>(scope.data.data()), scope.data.size()}};
}

std::vector<SqlValue> row_of(const Record& record) {
  std::string bytes;
  encode_record(record, bytes);
  const std::optional<Timestamp> gone = gone_at(record);
  return {key_of(record.scope),
          to_string(record.operation_id),
          record.request->operation,
          std::string(to_string(record.state)),
          gone ? SqlValue(gone->time_since_epoch().count()) : SqlValue(),
          SqlBytes{std::move(bytes)}};
}

Error damaged() { return {Errc::unreadable, "stored record: a column has a value that no record has"}; }

class SqliteLedger final : public Ledger {
 public:
  SqliteLedger(SqlConnection& connection, const Clock& clock) : connection_(connection), clock_(clock) {}

  Result<Done> enter() override {
    is_ours_ = !connection_.in_transaction();
    // IMMEDIATE: whoever reads first and wants to write later cannot wait for another writer.
    if (Result<Done> begun = run(is_ours_ ? "BEGIN IMMEDIATE" : "SAVEPOINT onceward"); !begun) return begun;
    Result<Done> made = ensure_tables(connection_);
    if (!made) undo();
    return made;
  }

  Result<ClaimReply> claim(const ClaimRequest& request, Duration) override {
    const Timestamp now = clock_.now();
    // The first statement writes, so that it can wait for its turn (see enter).
    ClaimStep step = transition(nullptr, request, now);
    const auto inserted = connection_.run(insert_sql, row_of(*step.next));
    if (!inserted) return inserted.error();
    if (inserted->changed == 0) {
      const Result<std::optional<Record>> stored = load(request.scope);
      if (!stored) return stored.error();
      if (!*stored) return damaged();
      step = transition(&**stored, request, now);
      if (step.next) {
        if (const Result<Done> saved = save(*step.next); !saved) return saved.error();
      }
    }
    // A refusal by a mark is undone with everything else that was not granted.
    Result<ClaimStep> marked =
        take_marks(connection_, std::move(step), [this](const Scope& scope) { return load(scope); }, now);
    if (!marked) return marked.error();
    step = std::move(*marked);
    if (step.reply.granted) claimed_ = step.reply.record;
    return std::move(step.reply);
  }

  Result<Record> complete(const CompleteRequest& request) override {
    const Timestamp now = clock_.now();
    Step step = transition(claimed_ ? &*claimed_ : nullptr, request, now);
    if (!step.next) return std::move(step.reply);
    if (const Result<Done> saved = save(*step.next); !saved) return saved.error();
    if (const Result<Done> ended = end_marks(connection_, *step.next, now); !ended) return ended.error();
    if (request.events) {
      for (const Event& event : *request.events) {
        const auto written =
            connection_.run(event_sql, {event.id, event.type, event.content_type, SqlBytes{event.payload},
                                        std::int64_t{now.time_since_epoch().count()}});
        if (!written) return written.error();
      }
    }
    return std::move(step.reply);
  }

  Result<Done> leave() override { return run(is_ours_ ? "COMMIT" : "RELEASE onceward"); }

  void undo() override {
    if (is_ours_) {
      (void)run("ROLLBACK");
      return;
    }
    (void)run("ROLLBACK TO onceward");
    (void)run("RELEASE onceward");
  }

 private:
  Result<Done> run(const char* sql) {
    const auto done = connection_.run(sql, {});
    return done ? Result<Done>(Done{}) : Result<Done>(done.error());
  }

  Result<Done> save(const Record& record) {
    const auto saved = connection_.run(update_sql, row_of(record));
    if (!saved) return saved.error();
    if (saved->changed != 1) return Error{Errc::unreadable, "the record is gone within its own transaction"};
    return Done{};
  }

  Result<std::optional<Record>> load(const Scope& scope) {
    const auto found =
        connection_.run("SELECT record FROM onceward_records WHERE scope = ?1", {key_of(scope)});
    if (!found) return found.error();
    if (found->rows.empty()) return std::optional<Record>();
    const auto* bytes = std::get_if<SqlBytes>(&found->rows[0].at(0));
    if (!bytes) return damaged();
    Result<Record> record = decode_record(bytes->bytes);
    if (!record) return record.error();
    if (record->scope != scope) return damaged();
    return std::optional(std::move(*record));
  }

  SqlConnection& connection_;
  const Clock& clock_;
  bool is_ours_ = false;
  std::optional<Record> claimed_;
};

constexpr std::size_t page_max = 100;

const std::string& text_of(const SqlValue& value) {
  static const std::string none;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* blob = std::get_if<SqlBytes>(&value)) return blob->bytes;
  return none;
}

}  // namespace

std::unique_ptr<Ledger> make_sqlite_ledger(SqlConnection& connection, const Clock& clock) {
  return std::make_unique<SqliteLedger>(connection, clock);
}

Result<std::size_t> drain_outbox(SqlConnection& connection, std::size_t limit,
                                 const std::function<bool(const Event&)>& deliver) {
  if (const Result<Done> made = ensure_tables(connection); !made) return made.error();
  std::size_t delivered = 0;
  while (delivered < limit) {
    const auto page = connection.run(
        "SELECT sequence, id, type, content_type, payload FROM onceward_outbox ORDER BY sequence LIMIT ?1",
        {static_cast<std::int64_t>(std::min(limit - delivered, page_max))});
    if (!page) return page.error();
    if (page->rows.empty()) break;
    for (const std::vector<SqlValue>& row : page->rows) {
      const Event event{text_of(row.at(1)), text_of(row.at(2)), text_of(row.at(3)), text_of(row.at(4))};
      if (!deliver(event)) return delivered;
      // Only now: an event that is removed first would be lost with us.
      const auto removed = connection.run("DELETE FROM onceward_outbox WHERE sequence = ?1", {row.at(0)});
      if (!removed) return removed.error();
      ++delivered;
    }
  }
  return delivered;
}

Result<std::size_t> purge_records(SqlConnection& connection, std::size_t limit, Timestamp now) {
  if (const Result<Done> made = ensure_tables(connection); !made) return made.error();
  const auto removed = connection.run(
      "DELETE FROM onceward_records WHERE rowid IN (SELECT rowid FROM onceward_records WHERE gone_at <= ?1 "
      "ORDER BY gone_at LIMIT ?2)",
      {std::int64_t{now.time_since_epoch().count()}, static_cast<std::int64_t>(limit)});
  if (!removed) return removed.error();
  const auto marks = connection.run(
      "DELETE FROM onceward_marks WHERE rowid IN (SELECT rowid FROM onceward_marks WHERE until <= ?1 LIMIT "
      "?2)",
      {std::int64_t{now.time_since_epoch().count()}, static_cast<std::int64_t>(limit)});
  if (!marks) return marks.error();
  return static_cast<std::size_t>(removed->changed);
}

}  // namespace onceward::sqlite
