// Relay: sends the events of an outbox, at least once, in order per record, one relay at work per partition
// across machines. It looks at a partition when it is woken for it, when an event's pause is over, and now
// and then for what others wrote; it claims a partition only while that has something to send, so that an
// idle relay writes nothing. Everything on one executor; the sender may use a thread of its own.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string_view>

#include "messaging/event_sender.hpp"
#include "messaging/partition_claim.hpp"
#include "messaging/relay_options.hpp"
#include "net/wait_list.hpp"

namespace onceward::messaging {

// What the relay counts and says; called on its executor.
class RelayObserver {
 public:
  virtual ~RelayObserver() = default;
  virtual void sent(std::size_t events) { (void)events; }
  // An attempt that was not confirmed. set_aside: the last one.
  virtual void failed(const PendingEvent& event, std::string_view error, bool set_aside) {
    (void)event, (void)error, (void)set_aside;
  }
  virtual void store_failed(const Error& error) { (void)error; }
};

struct RelayContext {
  Store& store;  // with an outbox
  Executor& executor;
  const Clock& clock;
  Random& random;
  EventSender& sender;
  RelayObserver& observer;
};

class Relay {
 public:
  Relay(const RelayContext& context, const RelayOptions& options);
  ~Relay();

  // On the executor's thread, as everything here.
  void start();
  void wake(std::uint32_t partitions);  // one bit each
  // Sends what is due until the deadline, then gives its claims up and ends.
  void stop(MonoTime deadline);
  // Any thread: it never ran, or has ended.
  bool is_idle() const { return !running_.load(); }

 private:
  struct Partition;

  Task<> run();
  Partition* due();
  MonoTime next_look() const;
  bool may_go_on() const;
  Task<> work_on(Partition& partition);
  Task<> rest(Partition& partition);
  // Whether the sink answered for one event at least, for none that it was given, or was given none.
  enum class Taken : std::uint8_t { untried, none, some };
  static Taken taken_of(SendVerdict verdict);
  Task<bool> send(Partition& partition, std::vector<PendingEvent> events);
  Task<Taken> send_wave(Partition& partition, std::vector<PendingEvent> wave,
                        std::vector<PendingEvent>& left);
  Task<bool> settle(Partition& partition, const SettleEventsRequest& request);
  FailedEvent failure(const PendingEvent& event, const SendResult& result);
  void look_later(Partition& partition, Duration after);
  std::uint16_t chance();

  const RelayContext context_;
  const RelayOptions options_;
  OutboxStore& outbox_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::size_t turn_ = 0;  // who is looked at first, so that a busy partition does not starve the others
  std::size_t batch_ = 16;
  Duration sink_pause_{};  // while the sink takes nothing at all
  MonoTime paused_until_{};
  MonoTime stop_at_ = MonoTime::max();
  bool stopping_ = false;
  net::WaitList resting_;
  std::atomic<bool> running_{false};
};

// The first event of each scope, taken out of `events`, in their order.
std::vector<PendingEvent> take_wave(std::vector<PendingEvent>& events);

}  // namespace onceward::messaging
