#include "sidecar/message_work.hpp"

namespace onceward::sidecar {

Task<Effect> MessageWork::execute(Grant grant) {
  attempt_ = grant.epoch;
  if (is_exhausted()) co_return NotSent{"it has been tried often enough"};
  if (!inner_->ready()) {
    const Result<Done> connected = co_await inner_->prepare();
    if (!connected) co_return NotSent{connected.error().message};
    if (!grant.is_held()) co_return NotSent{"the lease ended before the request could be sent"};
    grant.now = {};  // that was before connecting
  }
  co_return co_await inner_->execute(grant);
}

}  // namespace onceward::sidecar
