// DemoStage: the demo's order service and a proxy in front of it, in this process. Made and destroyed by the
// main thread, with signals blocked already; destroying it drains both.
#pragma once

#include <memory>
#include <string>

#include "cli/demo_service.hpp"
#include "cli/runtime.hpp"
#include "cli/worker_thread.hpp"

namespace onceward::cli {

struct StagePlan {
  std::string service = "127.0.0.1:0";
  std::string proxy = "127.0.0.1:0";
  std::string api = "127.0.0.1:0";
  std::string store = "memory";
  double loss = 0;  // of the service's answers
  std::uint64_t seed = 1;
};

class DemoStage {
 public:
  static Result<std::unique_ptr<DemoStage>> start(const StagePlan& plan);
  ~DemoStage();

  DemoService& service() { return service_; }
  const std::string& service_url() const { return service_url_; }
  std::string proxy_url() const { return "http://" + runtime_->addresses().front(); }
  std::string api_url() const { return "http://" + runtime_->api_address(); }

 private:
  explicit DemoStage(const StagePlan& plan);
  Result<Done> open(const StagePlan& plan);

  WorkerThread side_;
  DemoService service_;
  http::Server server_;
  std::string service_url_;
  Log log_;
  std::unique_ptr<Runtime> runtime_;  // null until the service listens
};

}  // namespace onceward::cli
