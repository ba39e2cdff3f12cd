#include "messaging/partition_claim.hpp"

#include <algorithm>
#include <array>

#include "base/await.hpp"
#include "core/scope.hpp"

namespace onceward::messaging {
namespace {

constexpr Duration hold_longest = std::chrono::days(365);
// Long enough that nobody finds the record half gone, short enough to leave nothing behind.
constexpr Duration released_ttl{1000};

}  // namespace

Scope relay_scope(std::uint16_t partition) {
  return scope_of(std::nullopt, std::nullopt, relay_operation, std::to_string(partition), "");
}

Task<bool> PartitionClaim::take() {
  co_await forget();
  std::array<std::uint8_t, 18> chance;
  random_.fill(chance);
  ClaimRequest request;
  request.scope = relay_scope(partition_);
  std::copy_n(chance.begin(), request.owner.data.size(), request.owner.data.begin());
  request.operation_id = make_operation_id(request.scope, clock_.now(),
                                           static_cast<std::uint16_t>(chance[16] | chance[17] << 8));
  request.request =
      std::make_shared<const RequestInfo>(RequestInfo{"", std::string(relay_operation), "", {}});
  request.lease = lease_;
  request.max_hold = hold_longest;
  request.ttl = released_ttl;
  request.take_unknown =
      true;  // of a relay that died: what it may have sent is sent again, which receivers expect
  const MonoTime asked_at = clock_.mono();
  const Result<ClaimReply> reply =
      co_await store_call<ClaimReply>(executor_, [&](auto& r) { return store_.claim(request, r); });
  // One whose fate is not known is left to its lease: sending later is always safe.
  if (!reply || !reply->granted) co_return false;
  fence_ = fence_of(reply->record);
  lost_ = false;
  keeper_.emplace(executor_, clock_, store_, [this] { lost_ = true; });
  keeper_->start(fence_, lease_, asked_at, asked_at + hold_longest);
  co_return is_held();
}

Task<> PartitionClaim::give_up() {
  const bool ours = is_held();
  co_await forget();
  if (!ours) co_return;
  const ReleaseRequest request{fence_, true};
  (void)co_await store_call<Record>(executor_, [&](auto& r) { return store_.release(request, r); });
}

Task<> PartitionClaim::forget() {
  if (!keeper_) co_return;
  co_await keeper_->stop();
  keeper_.reset();
}

}  // namespace onceward::messaging
