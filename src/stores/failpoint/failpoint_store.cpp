#include "stores/failpoint/failpoint_store.hpp"

#ifdef ONCEWARD_FAILPOINTS

namespace onceward {
namespace {

struct Points {
  Failpoint before;
  Failpoint after;
};

constexpr Points at_lookup{Failpoint::lookup_before, Failpoint::lookup_after};
constexpr Points at_claim{Failpoint::claim_before, Failpoint::claim_after};
constexpr Points at_dispatch{Failpoint::dispatch_before, Failpoint::dispatch_after};
constexpr Points at_renew{Failpoint::renew_before, Failpoint::renew_after};
constexpr Points at_complete{Failpoint::complete_before, Failpoint::complete_after};
constexpr Points at_release{Failpoint::release_before, Failpoint::release_after};
constexpr Points at_unknown{Failpoint::unknown_before, Failpoint::unknown_after};
constexpr Points at_resolve{Failpoint::resolve_before, Failpoint::resolve_after};
constexpr Points at_purge{Failpoint::purge_before, Failpoint::purge_after};

template <class T>
void hand_on(Result<T> inner, Failpoint after, Reply<T>& outer) {
  const bool lost = fails_at(after);
  outer.value =
      lost ? Result<T>(Error{Errc::unavailable, "failpoint: the reply was lost"}) : std::move(inner);
}

// Takes the inner store's reply, when it comes, to whoever asked. Owns itself: it is gone before the asker
// runs, because the asker may end everything.
template <class T>
struct Relay : Reply<T> {
  Relay(Reply<T>& asker, Failpoint point) : Reply<T>(*asker.executor), outer(asker), after(point) {
    this->run = [](Completion* self) {
      std::unique_ptr<Relay> relay(static_cast<Relay*>(self));
      Reply<T>& told = relay->outer;
      hand_on(std::move(relay->value), relay->after, told);
      relay.reset();
      told.run(&told);  // already on its executor: nothing is left to post
    };
  }
  Reply<T>& outer;
  const Failpoint after;
};

template <class T, class Start>
bool through(Points points, Reply<T>& reply, Start start) {
  if (fails_at(points.before)) {
    reply.value = Error{Errc::unavailable, "failpoint: the store was not reached"};
    return true;
  }
  auto relay = std::make_unique<Relay<T>>(reply, points.after);
  Relay<T>& inner = *relay.release();  // the executor's until it runs, which may be before start() returns
  if (!start(inner)) return false;
  relay.reset(&inner);
  hand_on(std::move(relay->value), points.after, reply);
  return true;
}

class FailpointStore final : public Store {
 public:
  explicit FailpointStore(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}

  bool claim(const ClaimRequest& request, Reply<ClaimReply>& reply) override {
    return through(at_claim, reply, [&](auto& r) { return inner_->claim(request, r); });
  }
  bool dispatch(const Fence& fence, Reply<Record>& reply) override {
    return through(at_dispatch, reply, [&](auto& r) { return inner_->dispatch(fence, r); });
  }
  bool renew(const RenewRequest& request, Reply<Record>& reply) override {
    return through(at_renew, reply, [&](auto& r) { return inner_->renew(request, r); });
  }
  bool complete(const CompleteRequest& request, Reply<Record>& reply) override {
    return through(at_complete, reply, [&](auto& r) { return inner_->complete(request, r); });
  }
  bool release(const ReleaseRequest& request, Reply<Record>& reply) override {
    return through(at_release, reply, [&](auto& r) { return inner_->release(request, r); });
  }
  bool unknown(const UnknownRequest& request, Reply<Record>& reply) override {
    return through(at_unknown, reply, [&](auto& r) { return inner_->unknown(request, r); });
  }
  bool resolve(const ResolveRequest& request, Reply<Record>& reply) override {
    return through(at_resolve, reply, [&](auto& r) { return inner_->resolve(request, r); });
  }
  bool lookup(const Scope& scope, Reply<Record>& reply) override {
    return through(at_lookup, reply, [&](auto& r) { return inner_->lookup(scope, r); });
  }
  bool lookup(const OperationId& id, Reply<Record>& reply) override {
    return through(at_lookup, reply, [&](auto& r) { return inner_->lookup(id, r); });
  }
  bool purge(const PurgeRequest& request, Reply<PurgeReply>& reply) override {
    return through(at_purge, reply, [&](auto& r) { return inner_->purge(request, r); });
  }

  bool list(const ListRequest& request, Reply<ListReply>& reply) override {
    return inner_->list(request, reply);
  }
  bool stats(Reply<StoreStats>& reply) override { return inner_->stats(reply); }
  bool serves_transactions() const override { return inner_->serves_transactions(); }
  void watch(const Scope& scope, std::function<void()> changed) override {
    inner_->watch(scope, std::move(changed));
  }
  void unwatch(const Scope& scope) override { inner_->unwatch(scope); }
  bool keeps_marks() const override { return inner_->keeps_marks(); }
  OutboxStore* outbox() override { return inner_->outbox(); }

 private:
  const std::unique_ptr<Store> inner_;
};

}  // namespace

std::unique_ptr<Store> make_failpoint_store(std::unique_ptr<Store> inner) {
  return std::make_unique<FailpointStore>(std::move(inner));
}

}  // namespace onceward

#endif
