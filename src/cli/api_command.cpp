#include "cli/api_command.hpp"

#include <signal.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

namespace onceward::cli {

namespace json = boost::json;

std::vector<Option> api_options(ApiOptions& api, bool& json) {
  return {{.names = "--config,-c",
           .help = "The configuration of the running Onceward",
           .target = &api.config_file,
           .value_name = "FILE",
           .is_file = true},
          {.names = "--api",
           .help = "Where its API is; unix:/path for its socket",
           .target = &api.api,
           .value_name = "URL"},
          {.names = "--token-file",
           .help = "The token; or ONCEWARD_TOKEN",
           .target = &api.token_file,
           .value_name = "FILE",
           .is_file = true},
          {.names = "--ca-file",
           .help = "Whom to trust over https",
           .target = &api.ca_file,
           .value_name = "FILE",
           .is_file = true},
          {.names = "--json", .help = "One JSON object per line", .target = &json}};
}

void print_line(const json::value& value) { std::printf("%s\n", json::serialize(value).c_str()); }

int ApiVoice::complain(const std::string& what, int code) const {
  std::fprintf(stderr, "onceward %s: %s\n", command, what.c_str());
  return code;
}

int ApiVoice::fail(const Error& error) const {
  return complain(error.message, error.code == Errc::invalid ? exit_usage : exit_failed);
}

int ApiVoice::refused(const ApiAnswer& answer, bool as_json) const {
  const json::object* problem = answer.body.if_object();
  if (as_json && problem) {
    std::fprintf(stderr, "%s\n", json::serialize(answer.body).c_str());
    return exit_failed;
  }
  const auto text = [&](const char* name) {
    const json::value* value = problem ? problem->if_contains(name) : nullptr;
    return value && value->is_string() ? std::string(value->as_string()) : std::string();
  };
  return complain(text("detail") + " (" + std::to_string(answer.status) + " " + text("code") + ")",
                  exit_failed);
}

int ApiVoice::with_client(const ApiOptions& options, const std::function<int(ApiClient&)>& run) const {
  ::signal(SIGPIPE, SIG_IGN);
  const Result<ApiAddress> address = find_api(options);
  if (!address) return fail(address.error());
  const Result<std::unique_ptr<ApiClient>> client = ApiClient::make(*address);
  if (!client) return fail(client.error());
  return run(**client);
}

}  // namespace onceward::cli
