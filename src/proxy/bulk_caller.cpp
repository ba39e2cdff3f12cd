#include "proxy/bulk_caller.hpp"

namespace onceward {

BulkCaller::BulkCaller(Executor& executor, const Clock& clock, std::optional<Duration> patience)
    : executor_(executor), impatient_(patience && *patience <= Duration::zero()) {
  Timer::run = [](Timer* self) {
    auto* caller = static_cast<BulkCaller*>(self);
    caller->impatient_ = true;
    caller->look();
  };
  if (patience && !impatient_) executor_.arm(*this, clock.mono() + *patience);
}

void BulkCaller::told(Outcome outcome) {
  executor_.cancel(*this);
  outcome_ = std::move(outcome);
  look();
}

void BulkCaller::begun(const Grant& grant) {
  grant_ = grant;
  look();
}

}  // namespace onceward
