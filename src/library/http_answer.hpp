// What an HTTP caller gets for each of the engine's outcomes (the proxy's answers.cpp, without sockets).
#pragma once

#include <memory>

#include "engine/outcome.hpp"
#include "onceward/http.hpp"
#include "ops/problem.hpp"

namespace onceward::api {

// The service's answer: whole for the first caller, and as much of it as is kept for the others. Written
// where the service ends, read afterwards on the engine's thread.
class FirstAnswer {
 public:
  FirstAnswer(std::shared_ptr<const Policy> policy, std::size_t max_response)
      : policy_(std::move(policy)), max_response_(max_response) {}
  onceward::Effect take(HttpResponse response);
  const HttpResponse& response() const { return response_; }

 private:
  const std::shared_ptr<const Policy> policy_;
  const std::size_t max_response_;
  HttpResponse response_;  // without hop-by-hop lines and what the service says to us alone
};

// Of a request that was not guarded: without what a service says to us alone.
HttpResponse passed(HttpResponse response);
HttpResponse http_problem(const Problem& problem);
// `leaves` are this request's, for naming what changed.
HttpResponse http_answer(onceward::Outcome outcome, const FirstAnswer& first, const Policy& policy,
                         const std::vector<Leaf>& leaves);

}  // namespace onceward::api
