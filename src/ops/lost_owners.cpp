#include "ops/lost_owners.hpp"

namespace onceward {
namespace {

// A crash is followed by a restart within minutes; what is older was there before.
constexpr Duration restart_takes = std::chrono::minutes(10);

}  // namespace

bool LostOwners::is_new(const Record& record) {
  if (record.state != State::unknown || record.evidence.cause != UnknownCause::owner_lost) return false;
  if (record.updated_at < process_began_ - restart_takes || seen_.size() >= remembered_max) return false;
  const Claim claim{record.operation_id, record.epoch};
  seen_.insert(claim);
  return known_.insert(claim).second;
}

void LostOwners::pass_ended() {
  known_ = std::move(seen_);
  seen_.clear();
}

}  // namespace onceward
