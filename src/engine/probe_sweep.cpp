#include "engine/probe_sweep.hpp"

#include <algorithm>

#include "base/await.hpp"

namespace onceward {
namespace {

constexpr Duration shortest_pause{250};
constexpr Duration longest_pause{30'000};
constexpr int pauses_per_listing = 20;  // looking through many records takes a twentieth of the time at most
constexpr Duration when_nothing_probes{1000};
constexpr Duration until_one_ends{20};
constexpr Duration tidies_every = std::chrono::minutes(10);
constexpr std::size_t page_records = 200;

}  // namespace

ProbeSweep::ProbeSweep(Engine& engine, Store& store, Executor& executor, const Clock& clock, Prober& prober,
                       EngineObserver* observer)
    : engine_(engine),
      store_(store),
      executor_(executor),
      clock_(clock),
      prober_(prober),
      observer_(observer) {
  alarm_.sweep = this;
  alarm_.run = [](Timer* alarm) { spawn(static_cast<Alarm*>(alarm)->sweep->pass()); };
}

void ProbeSweep::stop() {
  stopped_ = true;
  executor_.cancel(alarm_);
}

void ProbeSweep::arm() {
  // A reload may bring the first probe, so it looks now and then even when there is none.
  const Duration pause = prober_.probes_anything() ? pause_ : when_nothing_probes;
  if (!stopped_) executor_.arm(alarm_, clock_.mono() + pause);
}

Task<> ProbeSweep::pass() {
  passing_ = true;
  std::chrono::nanoseconds listing{};
  ListRequest page;
  page.state = State::unknown;
  page.limit = page_records;
  while (!stopped_ && prober_.probes_anything()) {
    const MonoTime began = clock_.mono();
    Result<ListReply> reply =
        co_await store_call<ListReply>(executor_, [&](auto& r) { return store_.list(page, r); });
    listing += clock_.mono() - began;
    if (!reply) break;  // readiness and the request path tell; the next pass tries again
    for (Record& record : reply->records) co_await look_at(std::move(record));
    page.cursor = reply->cursor;
    if (page.cursor.empty()) break;
  }
  pause_ =
      std::clamp(std::chrono::ceil<Duration>(pauses_per_listing * listing), shortest_pause, longest_pause);
  engine_.reconciler().forget_idle();
  if (prober_.probes_anything() && clock_.mono() >= tidies_at_) {
    tidies_at_ = clock_.mono() + tidies_every;
    co_await engine_.reconciler().free_lost_rights(executor_);
  }
  passing_ = false;
  arm();
}

Task<> ProbeSweep::look_at(Record record) {
  const std::shared_ptr<const Policy> policy = prober_.policy_of(record.request->operation);
  if (!policy || policy->on_unknown != OnUnknown::probe || !policy->probe) co_return;
  while (asking_ >= parallel_max) co_await SleepUntil(executor_, clock_.mono() + until_one_ends);
  if (stopped_) co_return;
  spawn(ask(std::move(record), policy));
}

Task<> ProbeSweep::ask(Record record, std::shared_ptr<const Policy> policy) {
  ++asking_;
  co_await engine_.probe(executor_, std::move(record), std::move(policy), prober_, observer_);
  --asking_;
}

}  // namespace onceward
