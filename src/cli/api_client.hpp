// ApiClient: asks the API of a running Onceward, one call at a time. Blocking, for commands; owns a worker
// with its thread.
#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "http/upstream.hpp"
#include "net/worker.hpp"
#include "onceward/result.hpp"

namespace onceward::cli {

// Where the API is and how to be let in.
struct ApiAddress {
  std::string url;
  std::string token;
  std::string ca_file;  // empty: the system's authorities
};

// What the options and the environment of a command say about it.
struct ApiOptions {
  std::string config_file;
  std::string api;
  std::string token_file;
  std::string ca_file;
};

// Errc::invalid: usage (exit 2).
Result<ApiAddress> find_api(const ApiOptions& options);

struct ApiAnswer {
  int status = 0;
  boost::json::value body;  // null when it is not JSON
};

class ApiClient {
 public:
  static Result<std::unique_ptr<ApiClient>> make(const ApiAddress& address);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // Errc::unavailable: no answer; whether a change was made is not known then.
  Result<ApiAnswer> get(const std::string& target) { return call("GET", target, ""); }
  Result<ApiAnswer> post(const std::string& target, const boost::json::value& body);

 private:
  explicit ApiClient(std::string token) : token_(std::move(token)) {}
  Result<ApiAnswer> call(const std::string& method, const std::string& target, const std::string& body);

  const std::string token_;
  net::Worker worker_;
  std::unique_ptr<http::Upstream> api_;
  std::thread thread_;
};

// "a b/c" as a value in a query.
std::string percent_encoded(std::string_view text);

}  // namespace onceward::cli
