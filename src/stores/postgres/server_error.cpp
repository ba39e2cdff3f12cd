#include "stores/postgres/server_error.hpp"

namespace onceward::postgres {
namespace {

std::string first_line(std::string_view message) {
  return std::string(message.substr(0, message.find('\n')));
}

std::string_view field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text ? text : "";
}

}  // namespace

ServerError server_error(const PGresult* result) {
  const std::string_view primary = field(result, PG_DIAG_MESSAGE_PRIMARY);
  return {field(result, PG_DIAG_SQLSTATE), primary.empty() ? PQresultErrorMessage(result) : primary,
          field(result, PG_DIAG_SEVERITY_NONLOCALIZED)};
}

Error error_of(const ServerError& error) {
  // Class 08 is about connections: a pooler uses it when the server behind it was lost.
  const bool is_rolled_back =
      error.severity == "ERROR" && error.sqlstate.size() == 5 && !error.sqlstate.starts_with("08");
  const std::string text = "postgres: " + first_line(error.message) +
                           (error.sqlstate.empty() ? "" : " (" + std::string(error.sqlstate) + ")");
  return {is_rolled_back ? Errc::refused : Errc::unavailable, text};
}

bool wants_another_server(std::string_view sqlstate) {
  return sqlstate == "25006" ||        // read-only: demoted
         sqlstate.starts_with("57P");  // shutting down, starting up
}

bool is_unreplicated_commit(const ServerError& notice) {
  return notice.severity == "WARNING" && notice.sqlstate == "01000";
}

}  // namespace onceward::postgres
