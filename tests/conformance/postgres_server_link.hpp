// A test's own connection to the PostgreSQL server that tests/servers/with started, beside the store's.
#pragma once

#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

namespace onceward::testing {

inline std::string server_url(const char* variable) {
  const char* url = std::getenv(variable);
  if (!url)
    throw std::runtime_error(std::string(variable) + " is not set: run this under tests/servers/with");
  return url;
}

class ServerLink {
 public:
  explicit ServerLink(const std::string& url) : connection_(PQconnectdb(url.c_str()), &PQfinish) {}

  // The first column of the first row.
  std::string run(const std::string& sql) const {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), sql.c_str()),
                                                               &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace onceward::testing
