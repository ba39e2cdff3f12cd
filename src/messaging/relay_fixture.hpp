// Relays over a model store in virtual time, an outbox that keeps the rules of its interface, and a sender
// that answers from a script.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <map>
#include <set>

#include "base/await.hpp"
#include "messaging/relay.hpp"
#include "support/fakes.hpp"
#include "support/model_store.hpp"
#include "support/virtual_executor.hpp"

namespace onceward::messaging {

class FakeOutbox final : public testing::ModelStore, public OutboxStore {
 public:
  explicit FakeOutbox(const Clock& clock) : ModelStore(clock), clock_(clock) {}
  OutboxStore* outbox() override { return this; }

  void write(const Scope& scope, const std::string& id) {
    events_.push_back({.sequence = ++last_,
                       .scope = scope,
                       .event = {id, "t", "application/json", "{}"},
                       .created_at = clock_.now(),
                       .due_at = clock_.now()});
  }

  bool fetch_events(const FetchEventsRequest& request, Reply<std::vector<PendingEvent>>& reply) override {
    ++fetches;
    if (is_down) return fail(reply);
    std::vector<PendingEvent> found;
    std::set<Scope> waiting;
    for (const PendingEvent& event : events_) {
      if (outbox_partition_of(event.scope) != request.partition || event.set_aside) continue;
      if (event.due_at > clock_.now()) waiting.insert(event.scope);
      if (!waiting.contains(event.scope) && found.size() < request.limit) found.push_back(event);
    }
    reply.value = std::move(found);
    return true;
  }
  bool settle_events(const SettleEventsRequest& request, Reply<std::size_t>& reply) override {
    if (lost_settles > 0 && lost_settles-- > 0) return fail(reply);
    const Record* relay = find(request.relay.scope);
    const bool current = relay && relay->epoch == request.relay.epoch &&
                         relay->owner == request.relay.owner && relay->state == State::processing &&
                         clock_.now() < relay->lease_until;
    if (!current) {
      reply.value = Error{Errc::stale, "not the partition's relay"};
      return true;
    }
    std::size_t done = 0;
    for (const std::string& id : request.delivered)
      done += std::erase_if(events_, [&](const PendingEvent& event) { return event.event.id == id; });
    for (const FailedEvent& failed : request.failed) {
      for (PendingEvent& event : events_) {
        if (event.event.id != failed.id) continue;
        ++event.attempts;
        event.due_at = clock_.now() + failed.retry_after;
        event.last_error = failed.error;
        event.set_aside = failed.set_aside;
        ++done;
      }
    }
    reply.value = done;
    return true;
  }
  bool list_events(const ListEventsRequest&, Reply<ListEventsReply>& reply) override { return fail(reply); }
  bool retry_events(const RetryEventsRequest&, Reply<std::size_t>& reply) override {
    for (PendingEvent& event : events_) {
      if (event.set_aside) event.due_at = clock_.now(), event.attempts = 0, event.set_aside = false;
    }
    reply.value = std::size_t{1};
    return true;
  }
  bool outbox_stats(Reply<OutboxStats>& reply) override { return fail(reply); }

  const std::list<PendingEvent>& events() const { return events_; }
  std::size_t fetches = 0;
  bool is_down = false;
  int lost_settles = 0;

 private:
  template <class T>
  static bool fail(Reply<T>& reply) {
    reply.value = Error{Errc::unavailable, "down"};
    return true;
  }
  const Clock& clock_;
  std::list<PendingEvent> events_;
  std::uint64_t last_ = 0;
};

// Sends at once, or as slowly as told, and says what the script says.
class ScriptedSender final : public EventSender {
 public:
  ScriptedSender(Executor& executor, const Clock& clock) : executor_(executor), clock_(clock) {}

  Task<std::vector<SendResult>> send(std::vector<PendingEvent> batch, MonoTime deadline) override {
    deadlines.push_back(deadline - clock_.mono());
    co_await SleepUntil(executor_, clock_.mono() + takes);
    std::vector<SendResult> results;
    for (const PendingEvent& event : batch) {
      attempts.push_back(event.event.id);
      SendResult result = answer ? answer(event) : SendResult{SendVerdict::delivered, ""};
      if (result.verdict == SendVerdict::delivered) delivered.push_back(event.event.id);
      results.push_back(std::move(result));
    }
    co_return results;
  }

  std::function<SendResult(const PendingEvent&)> answer;  // none: takes everything
  Duration takes{0};
  std::vector<std::string> attempts;
  std::vector<std::string> delivered;
  std::vector<std::chrono::nanoseconds> deadlines;

 private:
  Executor& executor_;
  const Clock& clock_;
};

class CountingObserver final : public RelayObserver {
 public:
  void sent(std::size_t events) override { sent_events += events; }
  void failed(const PendingEvent&, std::string_view, bool set_aside) override {
    ++failures;
    if (set_aside) ++set_asides;
  }
  void store_failed(const Error&) override { ++store_failures; }
  std::size_t sent_events = 0;
  std::size_t failures = 0;
  std::size_t set_asides = 0;
  std::size_t store_failures = 0;
};

class RelayTest : public ::testing::Test {
 protected:
  // One machine's relay.
  struct Machine {
    Machine(RelayTest& test, const RelayOptions& options)
        : sender(test.time.executor, test.time.clock),
          relay({test.outbox, test.time.executor, test.time.clock, test.random, sender, observer}, options) {}
    ScriptedSender sender;
    CountingObserver observer;
    Relay relay;
  };

  ~RelayTest() override {
    for (const auto& machine : machines_) machine->relay.stop(time.clock.mono() + std::chrono::seconds(1));
    time.advance(std::chrono::hours(1));
    for (const auto& machine : machines_) EXPECT_TRUE(machine->relay.is_idle());
  }

  Machine& machine() {
    machines_.push_back(std::make_unique<Machine>(*this, options));
    machines_.back()->relay.start();
    return *machines_.back();
  }
  static Scope scope(std::uint8_t partition, std::uint8_t key = 0) {
    Scope made;
    made.data[0] = partition;
    made.data[1] = key;
    return made;
  }
  // Written here: the relay of this process is told.
  void write(Machine& by, const Scope& where, const std::string& id) {
    outbox.write(where, id);
    by.relay.wake(std::uint32_t{1} << outbox_partition_of(where));
  }

  testing::VirtualRun time;
  testing::SeededRandom random{7};
  FakeOutbox outbox{time.clock};
  RelayOptions options;

 private:
  std::vector<std::unique_ptr<Machine>> machines_;
};

}  // namespace onceward::messaging
