// What an error of the server means for the verb that met it. Pure.
#pragma once

#include <libpq-fe.h>

#include <string_view>

#include "onceward/result.hpp"

namespace onceward::postgres {

struct ServerError {
  std::string_view sqlstate;  // five characters, empty when the error is libpq's own
  std::string_view message;
  std::string_view severity;  // not translated: ERROR, FATAL, PANIC
};

ServerError server_error(const PGresult* result);  // refers to it

// An ERROR ends with the transaction rolled back: nothing was written. With FATAL and PANIC, and when the
// connection broke, the transaction may have been committed before (I10).
Error error_of(const ServerError& error);

// The connection answers but is of no use any more: another server may be the primary now.
bool wants_another_server(std::string_view sqlstate);

// The warning of a commit that was told to stop waiting for its synchronous standby: it stands here and may
// be lost at a failover. Our statements cause no other warning of this class.
bool is_unreplicated_commit(const ServerError& notice);

}  // namespace onceward::postgres
