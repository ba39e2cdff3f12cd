#include "engine/lease_keeper.hpp"

#include <algorithm>

#include "base/await.hpp"

namespace onceward {
namespace {

// A store counts whole milliseconds and rounds the moment of the grant down.
constexpr Duration rounding{1};

}  // namespace

void LeaseKeeper::start(const Fence& fence, Duration lease, MonoTime asked_at, MonoTime hold_until) {
  request_ = {fence, lease};
  lease_until_ = std::min<MonoTime>(asked_at + lease, hold_until) - rounding;
  hold_until_ = hold_until;
  alarm_.keeper = this;
  alarm_.run = [](Timer* alarm) { static_cast<Alarm*>(alarm)->keeper->on_alarm(); };
  arm(asked_at + std::max(lease / 3, Duration(1)));
}

void LeaseKeeper::arm(MonoTime at) {
  if (!stopped_) executor_.arm(alarm_, std::min(at, lease_until_));
}

void LeaseKeeper::on_alarm() {
  if (!is_held()) return lapsed_();
  spawn(renew());
}

Task<> LeaseKeeper::renew() {
  renewing_ = true;
  const MonoTime asked_at = clock_.mono();
  const Result<Record> renewed =
      co_await store_call<Record>(executor_, [&](auto& reply) { return store_.renew(request_, reply); });
  renewing_ = false;
  if (renewed) {
    lease_until_ = std::min<MonoTime>(asked_at + request_.lease, hold_until_) - rounding;
    arm(clock_.mono() + std::max(request_.lease / 3, Duration(1)));
  } else if (renewed.error().code == Errc::unavailable || renewed.error().code == Errc::refused) {
    arm(clock_.mono() + std::max(request_.lease / 10,
                                 Duration(1)));  // the lease still lives; the store may come back in time
  } else if (!stopped_) {
    lapsed_();  // somebody resolved it; our outcome will be refused by the same fence (I3)
  }
  if (stopping_) std::exchange(stopping_, nullptr).resume();
}

}  // namespace onceward
