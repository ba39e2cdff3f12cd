// A model store that keeps the events that outcomes carry, each once, for a test to look at. Nothing is ever
// fetched from it.
#pragma once

#include <algorithm>
#include <memory>

#include "onceward/outbox_store.hpp"
#include "support/model_store.hpp"

namespace onceward::testing {

class TellingStore final : public ModelStore, private OutboxStore {
 public:
  explicit TellingStore(const Clock& clock, std::shared_ptr<Events> told) : ModelStore(clock), told_(told) {}

  OutboxStore* outbox() override { return this; }
  bool complete(const CompleteRequest& request, Reply<Record>& reply) override {
    const bool done = ModelStore::complete(request, reply);
    if (reply.value) keep(request.events);
    return done;
  }
  bool resolve(const ResolveRequest& request, Reply<Record>& reply) override {
    const bool done = ModelStore::resolve(request, reply);
    if (reply.value) keep(request.events);
    return done;
  }

 private:
  void keep(const std::shared_ptr<const Events>& events) {
    if (!events) return;
    for (const Event& event : *events) {
      if (std::ranges::find(*told_, event.id, &Event::id) == told_->end()) told_->push_back(event);
    }
  }
  template <class T>
  static bool none(Reply<T>& reply) {
    reply.value = Error{Errc::unavailable, "nothing is fetched here"};
    return true;
  }
  bool fetch_events(const FetchEventsRequest&, Reply<std::vector<PendingEvent>>& reply) override {
    return none(reply);
  }
  bool settle_events(const SettleEventsRequest&, Reply<std::size_t>& reply) override { return none(reply); }
  bool list_events(const ListEventsRequest&, Reply<ListEventsReply>& reply) override { return none(reply); }
  bool retry_events(const RetryEventsRequest&, Reply<std::size_t>& reply) override { return none(reply); }
  bool outbox_stats(Reply<OutboxStats>& reply) override { return none(reply); }

  const std::shared_ptr<Events> told_;
};

}  // namespace onceward::testing
