// Call: one send from its first attempt to its end. Lives on the client's worker, except that anybody may ask
// it to stop. Shared by the coroutine that runs it and by whoever may want to stop it, either of which can
// be the last to let go.
#pragma once

#include <memory>
#include <string>

#include "base/task.hpp"
#include "client/attempt.hpp"
#include "client/circuit_breaker.hpp"
#include "client/retry_budget.hpp"
#include "client/retry_schedule.hpp"
#include "client/wire_request.hpp"
#include "net/wait_list.hpp"
#include "net/worker.hpp"

namespace onceward::client {

// One server, as all sends of a client see it.
struct Origin {
  std::unique_ptr<http::Upstream> upstream;
  CircuitBreaker breaker;
};

class Call {
 public:
  Call(net::Worker& worker, const ClientOptions& options, WireRequest request, bool in_doubt)
      : options_(options), request_(std::move(request)), in_doubt_(in_doubt), pause_(worker) {}

  const WireRequest& request() const { return request_; }
  bool in_doubt() const { return in_doubt_; }

  // The worker's thread, like stop(). `in_doubt` of the result says what the intent is to remember.
  struct End {
    Outcome outcome;
    bool in_doubt = false;
  };
  Task<End> run(Origin& origin, RetryBudget& budget);
  void stop();

 private:
  Task<Attempt> attempt(Origin& origin, std::optional<Duration>& blocked);
  Verdict judge(Attempt made, std::optional<Duration>& retry_after);
  void tell(Origin& origin, const Attempt& attempt) const;
  End finish(Action action, Doubt doubt, std::string reason);

  const ClientOptions& options_;
  WireRequest request_;
  Outcome outcome_;
  Progress progress_;
  bool in_doubt_;
  bool stopped_ = false;
  http::Lease lease_;
  net::WaitList pause_;
};

}  // namespace onceward::client
