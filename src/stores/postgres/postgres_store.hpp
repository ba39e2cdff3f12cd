// The PostgreSQL store: records are rows of onceward.records, every verb is one call of a function of that
// schema, decided by the server alone and by its clock. Callable from any thread; replies come from the
// store's own I/O thread. It can be opened while the server is away: verbs are refused until it comes.
#pragma once

#include <memory>
#include <string>

#include "onceward/store.hpp"

namespace onceward::postgres {

struct PostgresOptions {
  std::string url;               // see docs/stores.md for its options
  const Clock* clock = nullptr;  // tests only: decide by this clock instead of the server's
};

struct Health {
  bool ready = false;
  std::string durability;  // what a commit means on this server
  std::string message;     // why not ready
};

class PostgresStore : public Store {
 public:
  virtual Health health() const = 0;
};

Result<Done> check_postgres_url(const std::string& url);

// Errc::invalid: the URL is wrong. Does not wait for the server.
Result<std::unique_ptr<PostgresStore>> open_postgres(const PostgresOptions& options);

// Brings the schema up to date; says what it did. Blocks.
Result<std::string> migrate_postgres(const std::string& url);

}  // namespace onceward::postgres
