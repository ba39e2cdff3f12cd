// SqliteConnection: a sqlite3* as onceward/transaction.hpp needs it. A header of its own, so that only who
// uses SQLite includes and links it. The handle stays the caller's; one thread at a time.
//
//   sqlite3_busy_timeout(db, 5000);  // how long a second writer waits
//   onceward::SqliteConnection connection(db);
//   commands->run(connection, command, work);
//
// A transaction of your own is best begun with BEGIN IMMEDIATE: one that has read before it writes cannot
// wait for another writer, SQLite fails it at once.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onceward/transaction.hpp"

namespace onceward {

namespace api {

class SqliteConnection final : public SqlConnection {
 public:
  explicit SqliteConnection(sqlite3* handle) : handle_(handle) {}

  bool in_transaction() const override { return sqlite3_get_autocommit(handle_) == 0; }

  Result<Answer> run(const char* sql, const std::vector<SqlValue>& values) override {
    sqlite3_stmt* prepared = nullptr;
    if (const int code = sqlite3_prepare_v2(handle_, sql, -1, &prepared, nullptr); code != SQLITE_OK)
      return error(code);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, &sqlite3_finalize);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (const int code = bind(prepared, static_cast<int>(i) + 1, values[i]); code != SQLITE_OK)
        return error(code);
    }
    Answer answer;
    int code = sqlite3_step(prepared);
    for (; code == SQLITE_ROW; code = sqlite3_step(prepared)) answer.rows.push_back(row_of(prepared));
    if (code != SQLITE_DONE) return error(code);
    answer.changed = sqlite3_changes(handle_);
    return answer;
  }

 private:
  static int bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      return sqlite3_bind_int64(statement, index, *number);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    }
    if (const auto* blob = std::get_if<SqlBytes>(&value)) {
      // A null pointer would be a NULL.
      const char* data = blob->bytes.empty() ? "" : blob->bytes.data();
      return sqlite3_bind_blob64(statement, index, data, blob->bytes.size(), SQLITE_STATIC);
    }
    return sqlite3_bind_null(statement, index);
  }

  static std::vector<SqlValue> row_of(sqlite3_stmt* statement) {
    std::vector<SqlValue> row;
    for (int column = 0; column < sqlite3_column_count(statement); ++column) {
      const int type = sqlite3_column_type(statement, column);
      if (type == SQLITE_NULL) {
        row.emplace_back();
      } else if (type == SQLITE_INTEGER) {
        row.emplace_back(static_cast<std::int64_t>(sqlite3_column_int64(statement, column)));
      } else {
        const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, column));
        const auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
        std::string bytes = data ? std::string(data, length) : std::string();
        if (type == SQLITE_BLOB) {
          row.emplace_back(SqlBytes{std::move(bytes)});
        } else {
          row.emplace_back(std::move(bytes));
        }
      }
    }
    return row;
  }

  Error error(int code) const {
    const int primary = code & 0xff;
    const bool locked = primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
    return {locked ? Errc::conflict : Errc::unavailable, std::string("sqlite: ") + sqlite3_errmsg(handle_)};
  }

  sqlite3* handle_;
};

}  // namespace api

#ifndef ONCEWARD_INTERNAL
using namespace api;
#endif

}  // namespace onceward
