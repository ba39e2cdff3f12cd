// The address of a PostgreSQL store: libpq's own URL, plus options of ours in the query that libpq never
// sees. Pure, any thread. Holds a password: never print it, print `shown`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onceward/executor.hpp"
#include "onceward/result.hpp"

namespace onceward::postgres {

struct ConnectionSettings {
  std::vector<std::pair<std::string, std::string>> values;  // libpq's keywords
  std::string get(std::string_view keyword) const;
  void set(std::string_view keyword, std::string value);
};

struct PostgresUrl {
  ConnectionSettings server;
  ConnectionSettings listener;  // listen_url, or the same as `server`
  bool has_own_listener = false;
  bool listen = true;
  bool migrate = true;
  std::size_t connections = 8;
  Duration timeout{5000};          // of a verb
  Duration connect_timeout{5000};  // of one attempt
  std::string shown;               // without password
};

Result<PostgresUrl> parse_postgres_url(std::string_view url);

}  // namespace onceward::postgres
