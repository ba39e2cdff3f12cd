#include "stores/postgres/postgres_ledger.hpp"

#include <algorithm>

#include "stores/postgres/server_error.hpp"
#include "stores/postgres/verbs.hpp"

namespace onceward::postgres {
namespace {

constexpr std::string_view lock_not_available = "55P03";

bool is_missing(std::string_view sqlstate) {
  return sqlstate == "3F000" || sqlstate == "42P01" || sqlstate == "42883";  // schema, table, function
}

Error error_of_result(const PGresult* result) {
  const ServerError error = server_error(result);
  if (error.sqlstate == lock_not_available)
    return {Errc::conflict, "another transaction of this key has not ended yet"};
  Error translated = error_of(error);
  if (is_missing(error.sqlstate)) translated.message += ": run `onceward store migrate URL`";
  return translated;
}

class PostgresLedger final : public Ledger {
 public:
  explicit PostgresLedger(PGconn* connection) : connection_(connection) {}

  Result<Done> enter() override {
    if (!connection_ || PQpipelineStatus(connection_) != PQ_PIPELINE_OFF)
      return Error{Errc::refused, "the connection is missing or in pipeline mode"};
    is_ours_ = PQtransactionStatus(connection_) == PQTRANS_IDLE;
    return just_run(is_ours_ ? "BEGIN" : "SAVEPOINT onceward");
  }

  Result<ClaimReply> claim(const ClaimRequest& request, Duration wait) override {
    // The limit is for the claim alone: the caller's own statements wait as the caller has said.
    Statement limit("SELECT current_setting('lock_timeout'), set_config('lock_timeout', $1, true)");
    limit.text(std::to_string(std::max<Duration::rep>(wait.count(), 1)));  // 0 would be without end
    const Result<ResultPtr> before = run(limit);
    if (!before) return before.error();
    const Result<ResultPtr> claimed = run(claim_statement(request, std::nullopt));
    if (!claimed) return claimed.error();
    Statement restore("SELECT set_config('lock_timeout', $1, true)");
    restore.text(PQgetvalue(before->get(), 0, 0));
    if (const Result<ResultPtr> restored = run(restore); !restored) return restored.error();
    return read_claim(**claimed, request);
  }

  Result<Record> complete(const CompleteRequest& request) override {
    const Result<ResultPtr> completed = run(complete_statement(request, std::nullopt));
    if (!completed) return completed.error();
    return read_complete(**completed, request);
  }

  Result<Done> leave() override {
    if (!is_ours_) return just_run("RELEASE SAVEPOINT onceward");
    const Result<ResultPtr> done = run(Statement("COMMIT"));
    if (!done) return done.error();
    // A transaction that has failed answers a COMMIT kindly, and rolls back.
    if (std::string_view(PQcmdStatus(done->get())) != "COMMIT")
      return Error{Errc::refused, "the transaction had failed and was rolled back"};
    return Done{};
  }

  void undo() override {
    if (is_ours_) {
      (void)just_run("ROLLBACK");
      return;
    }
    (void)just_run("ROLLBACK TO SAVEPOINT onceward");
    (void)just_run("RELEASE SAVEPOINT onceward");
  }

 private:
  Result<Done> just_run(const char* sql) {
    const Result<ResultPtr> done = run(Statement(sql));
    return done ? Result<Done>(Done{}) : Result<Done>(done.error());
  }

  Result<ResultPtr> run(const Statement& statement) {
    if (!statement.send(connection_)) return Error{Errc::unavailable, PQerrorMessage(connection_)};
    ResultPtr last;
    while (ResultPtr next{PQgetResult(connection_)}) last = std::move(next);
    if (!last) return Error{Errc::unavailable, PQerrorMessage(connection_)};
    const ExecStatusType status = PQresultStatus(last.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return error_of_result(last.get());
    return last;
  }

  PGconn* connection_;
  bool is_ours_ = false;
};

}  // namespace

std::unique_ptr<Ledger> make_postgres_ledger(PGconn* connection) {
  return std::make_unique<PostgresLedger>(connection);
}

}  // namespace onceward::postgres
