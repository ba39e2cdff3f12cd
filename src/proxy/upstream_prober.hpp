// UpstreamProber: the proxy's Prober. Sends one GET on a connection of its worker's upstream and reads one
// answer. Owned by the worker's proxy, which tells it of new rules; only on that worker's thread.
#pragma once

#include <memory>
#include <string>

#include "engine/prober.hpp"
#include "http/upstream.hpp"
#include "ops/log.hpp"
#include "proxy/probe_reply.hpp"
#include "proxy/rules.hpp"

namespace onceward {

class UpstreamProber final : public Prober {
 public:
  explicit UpstreamProber(Log& log) : log_(log) {}
  void use(std::shared_ptr<const Rules> rules, std::shared_ptr<http::Upstream> upstream);

  std::shared_ptr<const Policy> policy_of(std::string_view operation) const override;
  bool probes_anything() const override { return probes_anything_; }
  Duration time_limit() const override;
  Task<ProbeAnswer> ask(const Record& record, const Policy& policy) override;

 private:
  Task<Result<ProbeReply>> exchange(std::shared_ptr<http::Upstream> upstream, std::string head,
                                    const Policy& policy, std::size_t max_response);

  Log& log_;
  std::shared_ptr<const Rules> rules_;
  std::shared_ptr<http::Upstream> upstream_;
  bool probes_anything_ = false;
};

}  // namespace onceward
