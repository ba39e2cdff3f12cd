// TransactionalCommands: runs a command at most once per key inside a transaction of the caller's own
// database. The claim, the rows that the work writes, the value that is kept for retries and the events
// commit together or not at all, so that a crash at any statement leaves either everything or nothing, and a
// retry with the same key is right. PostgreSQL through libpq, SQLite through onceward/sqlite.hpp.
//
//   auto commands = onceward::TransactionalCommands::make({});
//   onceward::Outcome outcome =
//       commands->run(connection, {.operation = "orders.create", .key = key, .payload = body},
//                     [&](const onceward::Ticket&) {
//                       insert_order(connection, body);  // on the same connection
//                       return onceward::Effect::succeeded(answer).emit("order.created", body);
//                     });
//
// Without a transaction on the connection, run() begins one and commits it. Inside one that the caller has
// begun it sets a savepoint, and everything waits for the caller's own commit. The object is immutable: any
// thread may use it, each with a connection of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onceward/engine.hpp"
#include "onceward/export.hpp"
#include "onceward/inbox.hpp"
#include "onceward/values.hpp"

struct pg_conn;  // libpq's PGconn: only who uses it needs its header

namespace onceward {

class Ledger;

namespace api {

struct SqlBytes {
  std::string bytes;
};
using SqlValue =
    std::variant<std::monostate, std::int64_t, std::string, SqlBytes>;  // null, number, text, blob

// A connection as the library needs it. onceward/sqlite.hpp makes one of a sqlite3*.
class SqlConnection {
 public:
  struct Answer {
    std::vector<std::vector<SqlValue>> rows;
    std::int64_t changed = 0;  // rows that an INSERT, UPDATE or DELETE has touched
  };
  virtual ~SqlConnection() = default;
  virtual bool in_transaction() const = 0;
  // One statement with parameters ?1, ?2 and so on. Errc::conflict: the database is locked by another; any
  // other error: it failed.
  virtual Result<Answer> run(const char* sql, const std::vector<SqlValue>& values) = 0;
};

struct TransactionOptions {
  Policy defaults = {};  // ttl, receipt_ttl, fingerprint, in_progress.wait, marks and events count here
  std::vector<OperationPolicy> operations = {};
  std::size_t max_response = std::size_t{10} << 20;
  std::string key_prefix = {};
  std::string secret = {};  // as in EngineOptions
};

class ONCEWARD_API TransactionalCommands {
 public:
  // Errc::invalid: the options are wrong.
  static Result<TransactionalCommands> make(const TransactionOptions& options);
  TransactionalCommands(TransactionalCommands&&) noexcept;
  TransactionalCommands& operator=(TransactionalCommands&&) noexcept;
  ~TransactionalCommands();

  // Effect::released, and whatever the work throws, rolls back; Effect::failed is kept like a success, with
  // the rows that the work has written. Effect::unknown rolls back too and is Outcome::invalid: a transaction
  // has happened or it has not. Outcome::unknown: the commit was not confirmed; run the command again to find
  // out.
  using Work = Engine::Work;
  // The schema is made by `onceward store migrate`. A second transaction of the same key waits for the first,
  // at most `command.wait`, and is then told in_progress.
  Outcome run(::pg_conn* connection, const Command& command, const Work& work) const;
  // The tables are made when they are missing. A second transaction waits as long as the connection's busy
  // timeout.
  Outcome run(SqlConnection& connection, const Command& command, const Work& work) const;

  // The same for messages (onceward/inbox.hpp): handled once by every consumer. Redelivered after its
  // handling has committed, it is Outcome::replayed: acknowledge it. Attempts are the broker's to count: one
  // that was rolled back leaves nothing behind.
  Outcome consume(::pg_conn* connection, const std::string& consumer, const Message& message,
                  const Work& work) const;
  Outcome consume(SqlConnection& connection, const std::string& consumer, const Message& message,
                  const Work& work) const;

  // Hands events over in the order of their writing and removes each once `deliver` has returned true; stops
  // at the first false. At least once: after a crash the last one may come again, under the same id. One
  // drainer at a time. In PostgreSQL the relay does this.
  using Deliver = std::function<bool(const Event&)>;
  Result<std::size_t> drain(SqlConnection& connection, std::size_t limit, const Deliver& deliver) const;
  // Removes records that are past their time; how many. In PostgreSQL every proxy does this.
  Result<std::size_t> purge(SqlConnection& connection, std::size_t limit) const;

 private:
  struct Parts;
  explicit TransactionalCommands(std::unique_ptr<Parts> parts);
  Outcome run_in(Ledger& ledger, const Command& command, const Work& work) const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace api

#ifndef ONCEWARD_INTERNAL
using namespace api;
#endif

}  // namespace onceward
