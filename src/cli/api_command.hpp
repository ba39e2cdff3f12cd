// What commands that ask the API of a running Onceward have in common: how to find it, and how to say what
// went wrong. Main thread.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/api_client.hpp"
#include "cli/commands.hpp"

namespace onceward::cli {

// --config, --api, --token-file, --ca-file and --json.
std::vector<Option> api_options(ApiOptions& api, bool& json);

void print_line(const boost::json::value& value);  // one JSON text per line

// Complaints on stderr under the command's name; each returns the exit code.
struct ApiVoice {
  const char* command;

  int complain(const std::string& what, int code) const;
  int fail(const Error& error) const;
  // An answer that is no success, in its own words.
  int refused(const ApiAnswer& answer, bool as_json) const;
  int with_client(const ApiOptions& options, const std::function<int(ApiClient&)>& run) const;
};

}  // namespace onceward::cli
