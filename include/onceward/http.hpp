// HttpGuard: what the proxy does for a service behind it, inside the service: key, tenant, fingerprint,
// replay and problems of HTTP requests, on an Engine. The service is a plain function from request to
// response that knows nothing of idempotency; the filters for Beast and cpp-httplib are built on this.
// Any thread; the engine must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onceward/engine.hpp"

namespace onceward {

namespace api {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // in the order they were sent

struct HttpRequest {
  std::string method;
  std::string target;  // path and query
  HttpHeaders headers = {};
  std::string body = {};
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers = {};
  std::string body = {};
};

struct HttpOptions {
  std::string tenant_header = "X-Tenant-ID";
  bool tenant_required = false;
  bool tenant_is_uuid = false;
  // Who asks, besides the tenant; absent: a hash of the Authorization header, if there is one.
  std::function<std::optional<std::string>(const HttpRequest&)> caller = {};
};

class ONCEWARD_API HttpGuard {
 public:
  // The operations and their `match` are those of the engine's options.
  explicit HttpGuard(Engine& engine, HttpOptions options = {});
  ~HttpGuard();
  HttpGuard(const HttpGuard&) = delete;
  HttpGuard& operator=(const HttpGuard&) = delete;

  using Service = std::function<HttpResponse(const HttpRequest&)>;
  // Blocks; the service runs on this thread, if it runs. What it throws leaves the outcome unknown and is
  // thrown on. Safe methods and requests without a key (unless it is required) go straight through.
  HttpResponse handle(const HttpRequest& request, const Service& service);

  using Respond = std::function<void(HttpResponse)>;
  using AsyncService = std::function<void(const HttpRequest&, Respond)>;
  // Returns at once. The service is called on this thread or on the engine's and must not block; it may
  // respond from any thread. If it drops its Respond unused, the outcome is unknown.
  void handle(HttpRequest request, AsyncService service, Respond respond);

 private:
  class State;
  std::shared_ptr<const State> state_;  // shared with requests in flight
};

}  // namespace api

}  // namespace onceward
