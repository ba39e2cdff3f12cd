// Call: one request on its way through the proxy, and what the access log and the metrics will say.
#pragma once

#include <memory>
#include <string>

#include "core/operation_id_text.hpp"
#include "http/exchange.hpp"
#include "net/worker.hpp"
#include "ops/metrics.hpp"
#include "proxy/proxy.hpp"
#include "proxy/rules.hpp"

namespace onceward {

struct Proxy::Call {
  Call(http::Exchange& on, std::shared_ptr<const Rules> under, std::shared_ptr<http::Upstream> to,
       const Operation& of)
      : exchange(on), rules(std::move(under)), upstream(std::move(to)), operation(&of) {}

  http::Exchange& exchange;
  const std::shared_ptr<const Rules> rules;  // what it began with: a reload changes nothing for it
  const std::shared_ptr<http::Upstream> upstream;
  const Operation* const operation;  // of the rules
  std::string derived_key;  // for the upstream, which finds none that counts in the request as it was sent
  const MonoTime began = net::Worker::recently();

  std::string operation_name() const {
    return onceward::operation_name(*operation, exchange.request().method, exchange.request().path());
  }

  // For the log and the metrics.
  RequestOutcome outcome = RequestOutcome::passed;
  std::chrono::nanoseconds upstream_took{-1};
  OperationIdText operation_id;
  Epoch epoch = 0;
  std::string key_hash;
  std::uint64_t body_bytes = 0;
  std::shared_ptr<const RequestInfo> info;  // for wording a mismatch
};

}  // namespace onceward
