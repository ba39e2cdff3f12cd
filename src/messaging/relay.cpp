#include "messaging/relay.hpp"

#include <algorithm>
#include <set>

#include "base/assert.hpp"
#include "base/await.hpp"

namespace onceward::messaging {
namespace {

constexpr std::size_t batch_max = 128;
constexpr std::size_t batch_bytes = std::size_t{8} << 20;  // beyond it the next batch is smaller
constexpr Duration sink_pause_first{100};
constexpr Duration sink_pause_longest{5000};
constexpr Duration linger{5000};  // a claim is kept so long after the last work
constexpr Duration settle_pause{50};
constexpr int settle_attempts = 5;

std::size_t bytes_of(const std::vector<PendingEvent>& events) {
  std::size_t bytes = 0;
  for (const PendingEvent& event : events) bytes += event.event.payload.size();
  return bytes;
}

}  // namespace

std::vector<PendingEvent> take_wave(std::vector<PendingEvent>& events) {
  std::vector<PendingEvent> wave;
  std::vector<PendingEvent> left;
  std::set<Scope> seen;
  for (PendingEvent& event : events) {
    const bool first = seen.insert(event.scope).second;
    (first ? wave : left).push_back(std::move(event));
  }
  events = std::move(left);
  return wave;
}

struct Relay::Partition {
  Partition(const RelayContext& context, std::uint16_t which, Duration lease)
      : number(which), claim(context.executor, context.clock, context.random, context.store, which, lease) {}
  const std::uint16_t number;
  PartitionClaim claim;
  bool rung = false;
  MonoTime look_at{};
  MonoTime retry_at = MonoTime::max();  // when the first of the events that failed here is due again
  MonoTime worked_at{};
};

Relay::Relay(const RelayContext& context, const RelayOptions& options)
    : context_(context), options_(options), outbox_(*context.store.outbox()), resting_(context.executor) {
  for (std::uint16_t number = 0; number < outbox_partitions; ++number)
    partitions_.push_back(std::make_unique<Partition>(context_, number, options_.lease()));
}

Relay::~Relay() { ONCEWARD_ASSERT(is_idle()); }

void Relay::start() {
  running_ = true;
  spawn(run());
}

void Relay::wake(std::uint32_t partitions) {
  for (const auto& partition : partitions_) {
    if (partitions >> partition->number & 1) partition->rung = true;
  }
  resting_.wake_all();
}

void Relay::stop(MonoTime deadline) {
  stopping_ = true;
  stop_at_ = deadline;
  resting_.wake_all();
}

std::uint16_t Relay::chance() {
  std::array<std::uint8_t, 2> bytes;
  context_.random.fill(bytes);
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

bool Relay::may_go_on() const { return context_.clock.mono() < stop_at_; }

Task<> Relay::run() {
  while (may_go_on()) {
    if (Partition* next = due()) {
      co_await work_on(*next);
    } else if (stopping_) {
      break;
    } else {
      (void)co_await resting_.wait(next_look());
    }
  }
  for (const auto& partition : partitions_) co_await partition->claim.give_up();
  running_ = false;
}

Relay::Partition* Relay::due() {
  const MonoTime now = context_.clock.mono();
  if (now < paused_until_) return nullptr;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    Partition& partition = *partitions_[(turn_ + i) % partitions_.size()];
    if (!partition.rung && now < std::min(partition.look_at, partition.retry_at)) continue;
    turn_ = partition.number + std::size_t{1};
    return &partition;
  }
  return nullptr;
}

MonoTime Relay::next_look() const {
  MonoTime next = MonoTime::max();
  for (const auto& partition : partitions_) {
    const MonoTime look_at = partition->rung ? MonoTime() : partition->look_at;
    next = std::min({next, look_at, partition->retry_at});
  }
  return std::max(next, paused_until_);
}

// A tenth more or less: many relays on one store do not come all at once.
void Relay::look_later(Partition& partition, Duration after) {
  const Duration some = after * 9 / 10 + Duration(after.count() / 5 * chance() / 65535);
  partition.look_at = context_.clock.mono() + std::max(some, Duration(1));
}

Task<> Relay::work_on(Partition& partition) {
  const MonoTime now = context_.clock.mono();
  partition.rung = false;
  if (partition.retry_at <= now) partition.retry_at = MonoTime::max();
  const bool held = partition.claim.is_held();
  // Looking costs less than claiming, and mostly there is nothing.
  const FetchEventsRequest request{partition.number, held ? batch_ : 1};
  Result<std::vector<PendingEvent>> found = co_await store_call<std::vector<PendingEvent>>(
      context_.executor, [&](auto& reply) { return outbox_.fetch_events(request, reply); });
  if (!found) {
    context_.observer.store_failed(found.error());
    co_return look_later(partition, std::max(options_.poll, Duration(1000)));
  }
  if (found->empty()) co_return co_await rest(partition);
  if (!held) {
    // Asked for anew under the claim: whoever had it before may have sent these meanwhile.
    if (co_await partition.claim.take()) {
      partition.look_at = {};
    } else {
      look_later(partition, std::min(options_.poll, Duration(1000)));
    }
    co_return;
  }
  const bool more = found->size() == request.limit;
  batch_ =
      bytes_of(*found) > batch_bytes ? std::max<std::size_t>(1, batch_ / 4) : std::min(batch_ * 2, batch_max);
  const bool tried = co_await send(partition, std::move(*found));
  partition.worked_at = context_.clock.mono();
  if (more && tried) {
    partition.look_at = {};
  } else {
    look_later(partition, options_.poll);
  }
}

Task<> Relay::rest(Partition& partition) {
  if (partition.claim.is_held() && context_.clock.mono() >= partition.worked_at + linger)
    co_await partition.claim.give_up();
  look_later(partition, options_.poll);
}

// Whether any of it was.
Task<bool> Relay::send(Partition& partition, std::vector<PendingEvent> events) {
  Taken taken = Taken::untried;
  while (!events.empty() && partition.claim.is_held() && may_go_on())
    taken = std::max(taken, co_await send_wave(partition, take_wave(events), events));
  if (taken == Taken::some) sink_pause_ = {};
  if (taken == Taken::none) {
    // The sink is down, and every further event would only spend its attempts.
    sink_pause_ = std::clamp(sink_pause_ * 2, sink_pause_first, sink_pause_longest);
    paused_until_ = context_.clock.mono() + sink_pause_;
  }
  co_return taken != Taken::untried;
}

// What follows a failed event of its record waits with it.
Task<Relay::Taken> Relay::send_wave(Partition& partition, std::vector<PendingEvent> wave,
                                    std::vector<PendingEvent>& left) {
  const MonoTime deadline =
      std::min<MonoTime>(context_.clock.mono() + options_.timeout, partition.claim.held_until());
  const std::vector<SendResult> results = co_await context_.sender.send(wave, deadline);
  SettleEventsRequest settled{partition.claim.fence(), {}, {}};
  std::set<Scope> held_back;
  Taken taken = Taken::untried;
  for (std::size_t i = 0; i < wave.size(); ++i) {
    const SendResult& result = results[i];
    taken = std::max(taken, taken_of(result.verdict));
    if (result.verdict == SendVerdict::delivered) {
      settled.delivered.push_back(wave[i].event.id);
    } else if (result.verdict == SendVerdict::untried) {
      held_back.insert(wave[i].scope);
    } else {
      settled.failed.push_back(failure(wave[i], result));
      if (!settled.failed.back().set_aside) held_back.insert(wave[i].scope);
    }
  }
  std::erase_if(left, [&](const PendingEvent& event) { return held_back.contains(event.scope); });
  if (settled.delivered.empty() && settled.failed.empty()) co_return taken;
  if (!co_await settle(partition, settled)) {
    left.clear();
    co_return taken;
  }
  context_.observer.sent(settled.delivered.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < wave.size(); ++i) {
    if (results[i].verdict != SendVerdict::retry && results[i].verdict != SendVerdict::poison) continue;
    const FailedEvent& failed = settled.failed[next++];
    context_.observer.failed(wave[i], failed.error, failed.set_aside);
    if (!failed.set_aside)
      partition.retry_at = std::min<MonoTime>(partition.retry_at, context_.clock.mono() + failed.retry_after);
  }
  co_return taken;
}

Relay::Taken Relay::taken_of(SendVerdict verdict) {
  switch (verdict) {
    case SendVerdict::delivered:
    case SendVerdict::poison:
      return Taken::some;
    case SendVerdict::retry:
      return Taken::none;
    case SendVerdict::untried:
      break;
  }
  return Taken::untried;
}

FailedEvent Relay::failure(const PendingEvent& event, const SendResult& result) {
  constexpr std::size_t error_bytes_max = 500;
  const std::uint32_t attempts = event.attempts + 1;
  FailedEvent failed{event.event.id, result.error.substr(0, error_bytes_max), {}, false};
  failed.set_aside = result.verdict == SendVerdict::poison || attempts >= options_.attempts;
  if (!failed.set_aside) failed.retry_after = back_off(options_, attempts, chance());
  return failed;
}

// An event that was sent and is not settled is sent again; worth trying for a while.
Task<bool> Relay::settle(Partition& partition, const SettleEventsRequest& request) {
  Result<std::size_t> done = Error{};
  for (int attempt = 0; attempt < settle_attempts && partition.claim.is_held(); ++attempt) {
    if (attempt != 0) co_await SleepUntil(context_.executor, context_.clock.mono() + settle_pause);
    done = co_await store_call<std::size_t>(
        context_.executor, [&](auto& reply) { return outbox_.settle_events(request, reply); });
    if (done || done.error().code != Errc::unavailable) break;
  }
  if (done) co_return true;
  context_.observer.store_failed(done.error());
  if (done.error().code == Errc::stale) co_await partition.claim.forget();
  co_return false;
}

}  // namespace onceward::messaging
