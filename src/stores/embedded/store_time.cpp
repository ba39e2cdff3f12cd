#include "stores/embedded/store_time.hpp"

namespace onceward::embedded {
namespace {

Duration distance(Duration value) { return value < Duration::zero() ? -value : value; }

}  // namespace

StoreTime::StoreTime(const Clock& clock, std::optional<Timestamp> last_written)
    : clock_(clock), anchor_mono_(clock.mono()), anchor_(clock.now()) {
  if (last_written && distance(anchor_ - *last_written) > jump) paused_until_ = anchor_mono_ + steady;
}

Timestamp StoreTime::update() {
  const MonoTime mono = clock_.mono();
  const Timestamp wall = clock_.now();
  const Timestamp derived = anchor_ + std::chrono::duration_cast<Duration>(mono - anchor_mono_);
  const Duration drift = wall - derived;
  if (distance(drift) <= follows) {
    suspicion_.reset();
    anchor_ = wall;
    anchor_mono_ = mono;
    return wall;
  }
  if (!suspicion_ || distance(drift - suspicion_->drift) > follows) suspicion_ = Suspicion{drift, mono};
  if (mono - suspicion_->since < steady) return derived;
  suspicion_.reset();
  anchor_ = wall;
  anchor_mono_ = mono;
  return wall;
}

Timestamp StoreTime::now() {
  const std::lock_guard lock(mutex_);
  return update();
}

bool StoreTime::may_purge() {
  const std::lock_guard lock(mutex_);
  update();
  if (paused_until_ && clock_.mono() >= *paused_until_) paused_until_.reset();
  return !paused_until_ && (!suspicion_ || distance(suspicion_->drift) <= jump);
}

}  // namespace onceward::embedded
