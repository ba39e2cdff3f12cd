#include "stores/postgres/pool.hpp"

#include <algorithm>

#include "base/hex.hpp"

namespace onceward::postgres {
namespace {

constexpr Duration look_for_expired{20};

}  // namespace

Pool::Pool(PostgresUrl url, Watches& watches)
    : url_(std::move(url)),
      watches_(watches),
      connector_(
          url_,
          [this](Connected made) {
            auto shared = std::make_shared<Connected>(std::move(made));  // a job must be copyable
            worker_.call([this, shared] { connected(std::move(*shared)); });
          },
          [this](const Error& error) { worker_.call([this, error] { failed(error); }); }) {
  for (std::size_t i = 0; i < url_.connections; ++i) lanes_.push_back({Role::verbs, nullptr});
  lanes_.push_back({Role::chores, nullptr});
  if (url_.has_own_listener) lanes_.push_back({Role::listener, nullptr});
  alarm_.pool = this;
  alarm_.run = [](Timer* timer) { static_cast<Alarm*>(timer)->pool->expire_waiting(); };
  state_.message = "not connected yet";
  for (std::size_t slot = 0; slot < lanes_.size(); ++slot) connector_.want(lanes_[slot].role, slot);
  thread_ = std::thread([this] { worker_.run(); });
}

Pool::~Pool() {
  connector_.stop();
  worker_.call([this] {
    worker_.cancel(alarm_);
    for (Lane& lane : lanes_) lane.pipeline.reset();
    for (Queue& queue : queues_) refuse_waiting(queue, {Errc::refused, "postgres: the store was closed"});
    worker_.call([this] { worker_.stop(); });  // after what was posted before
  });
  thread_.join();
}

void Pool::submit(std::unique_ptr<Errand> errand) {
  struct Arrival {
    static void run(Completion* self) {
      auto* arrived = static_cast<Errand*>(self);
      arrived->pool->take(std::unique_ptr<Errand>(arrived));
    }
  };
  errand->deadline = net::Worker::now() + url_.timeout;
  errand->pool = this;
  errand->run = &Arrival::run;
  worker_.post(errand.release());
}

void Pool::take(std::unique_ptr<Errand> errand) {
  const Role role = errand->chore ? Role::chores : Role::verbs;
  if (Lane* lane = best_lane(role)) return lane->pipeline->send(std::move(errand));
  Queue& queue = queue_of(role);
  queue.waiting.push_back(std::move(errand));
  if (queue.down) return refuse_waiting(queue, queue.why);
  if (!alarm_.armed()) worker_.arm(alarm_, net::Worker::now() + look_for_expired);
}

Pool::Lane* Pool::best_lane(Role role) {
  Lane* best = nullptr;
  for (Lane& lane : lanes_) {
    if (lane.role != role || !lane.pipeline || lane.pipeline->is_broken()) continue;
    if (!best || lane.pipeline->in_flight() < best->pipeline->in_flight()) best = &lane;
  }
  return best;
}

void Pool::connected(Connected made) {
  Lane& lane = lanes_[made.slot];
  const std::size_t slot = made.slot;
  if (made.role != Role::listener) facts_ = made.facts;
  const bool listens = url_.listen && !made.facts.is_pooled &&
                       made.role == (url_.has_own_listener ? Role::listener : Role::chores);
  lane.pipeline = std::make_unique<Pipeline>(
      worker_, std::move(made.connection), [this, slot](const Error& error) { lost(slot, error); },
      [this](std::string_view payload) { notified(payload); });
  if (listens) {
    hears_.store(true, std::memory_order_relaxed);
    watches_.wake_all();
  }
  if (made.role != Role::listener) {
    queue_of(made.role).down = false;
    send_waiting(made.role);
  }
  publish();
}

void Pool::failed(const Error& error) {
  for (const Role role : {Role::verbs, Role::chores}) {
    if (best_lane(role)) continue;
    Queue& queue = queue_of(role);
    queue.down = true;
    queue.why = {Errc::refused, error.message};
    refuse_waiting(queue, queue.why);
  }
  publish();
}

void Pool::lost(std::size_t slot, const Error&) {
  const Role role = lanes_[slot].role;
  if (role == (url_.has_own_listener ? Role::listener : Role::chores))
    hears_.store(false, std::memory_order_relaxed);
  // The pipeline is still on the stack. A new connection can only come by a later call.
  worker_.call([this, slot, role] {
    lanes_[slot].pipeline.reset();
    publish();
    connector_.want(role, slot);
  });
}

void Pool::notified(std::string_view payload) {
  Scope scope;
  if (from_hex(payload, scope.data)) watches_.wake(scope);
}

void Pool::send_waiting(Role role) {
  Queue& queue = queue_of(role);
  while (!queue.waiting.empty()) {
    Lane* lane = best_lane(role);
    if (!lane) return;
    std::unique_ptr<Errand> errand = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    lane->pipeline->send(std::move(errand));
  }
}

void Pool::refuse_waiting(Queue& queue, const Error& error) {
  ReplyBatch batch;
  for (const std::unique_ptr<Errand>& errand : std::exchange(queue.waiting, {})) {
    errand->fail(error);
    errand->finish(batch);
  }
}

void Pool::expire_waiting() {
  ReplyBatch batch;
  const MonoTime now = net::Worker::now();
  bool any = false;
  for (Queue& queue : queues_) {
    while (!queue.waiting.empty() && queue.waiting.front()->deadline <= now) {
      queue.waiting.front()->fail({Errc::refused, "postgres: no connection in time"});
      queue.waiting.front()->finish(batch);
      queue.waiting.pop_front();
    }
    any = any || !queue.waiting.empty();
  }
  if (any) worker_.arm(alarm_, now + look_for_expired);
}

void Pool::publish() {
  PoolState state;
  state.connected = best_lane(Role::verbs) && best_lane(Role::chores);
  state.pooled = facts_.is_pooled;
  state.durability = facts_.durability;
  for (const Queue& queue : queues_)
    if (!state.connected && queue.down) state.message = queue.why.message;
  if (!state.connected && state.message.empty()) state.message = "connecting";
  std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

PoolState Pool::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace onceward::postgres
