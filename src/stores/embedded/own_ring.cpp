#include "stores/embedded/own_ring.hpp"

#include <utility>

namespace onceward::embedded {

OwnRing::OwnRing(Client& client) : client_(client) {
  events_.self = this;
  events_.run = [](FileWatch* self) {
    OwnRing& own = *static_cast<Events*>(self)->self;
    if (own.is_writing) own.client_.on_end(own, false);
  };
  events_.ended = [](FileWatch* self) { static_cast<Events*>(self)->self->close(); };
  turn_.self = this;
  turn_.run = [](Completion* self) { static_cast<Turn*>(self)->self->take_turn(); };
}

OwnRing::~OwnRing() { events_.stop(); }

bool OwnRing::open(Executor& executor) {
  if (ring_ || is_refused_) return is_open();
  auto ring = std::make_unique<IoRing>();
  const int ends = ring->is_there() ? ring->tell_of_ends() : -1;
  is_refused_ = ends < 0 || !executor.watch(ends, events_);
  if (is_refused_) return false;
  ring_ = std::move(ring);
  const std::lock_guard lock(mutex_);
  executor_ = &executor;
  return true;
}

// The thread ends, and with it the ring that only this thread may use: what was begun or given is seen to
// now.
void OwnRing::close() {
  bool has_turn = false;
  is_ending_ = true;
  {
    const std::lock_guard lock(mutex_);
    executor_ = nullptr;
    has_turn = std::exchange(has_turn_, false);
  }
  if (is_writing) client_.on_end(*this, true);
  if (has_turn) client_.on_turn(*this);
  ring_.reset();
  is_ending_ = false;
}

bool OwnRing::give_turn() {
  const std::lock_guard lock(mutex_);
  if (!executor_ || is_posted_) return false;
  has_turn_ = is_posted_ = true;
  turn_.next = nullptr;
  executor_->post(&turn_);
  return true;
}

void OwnRing::take_turn() {
  {
    const std::lock_guard lock(mutex_);
    is_posted_ = false;
    if (!std::exchange(has_turn_, false)) return;
  }
  client_.on_turn(*this);
}

}  // namespace onceward::embedded
