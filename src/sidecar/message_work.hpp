// MessageWork: the engine's work of one message: sends it to the service, on a connection that is made only
// after the claim. The proxy connects first, so that a refused connection leaves no record; here the record
// is what counts the attempts, so it must be there. On the worker's thread.
#pragma once

#include <memory>

#include "core/message_attempts.hpp"
#include "proxy/upstream_work.hpp"

namespace onceward::sidecar {

class MessageWork final : public Work {
 public:
  MessageWork(std::shared_ptr<UpstreamWork> inner, AttemptLimit limit)
      : inner_(std::move(inner)), limit_(limit) {}

  bool ready() override { return true; }
  Task<Result<Done>> prepare() override { co_return Done{}; }
  void stand_down() override { inner_->stand_down(); }
  Task<Effect> execute(Grant grant) override;
  Task<std::optional<Answer>> late() override { return inner_->late(); }

  // An epoch is an attempt: a failed one releases the key, and the next claim of it counts one more.
  Epoch attempt() const { return attempt_; }  // 0: not this delivery's turn
  bool is_exhausted() const { return attempt_ > limit_.at(attempt_); }

 private:
  const std::shared_ptr<UpstreamWork> inner_;  // shared with whoever lends it the head
  const AttemptLimit limit_;
  Epoch attempt_ = 0;
};

}  // namespace onceward::sidecar
