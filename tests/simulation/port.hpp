// Port: one process's way to the store. Requests and replies get lost, come late, or are refused; a
// wake-up may never come. When its process dies nothing passes any more in either direction.
#pragma once

#include <memory>
#include <unordered_map>

#include "onceward/store.hpp"
#include "simulation/authority.hpp"

namespace onceward::simulation {

class Port final : public Store {
 public:
  Port(World& world, Authority& authority) : world_(world), authority_(authority) {}

  bool claim(const ClaimRequest& request, Reply<ClaimReply>& reply) override;
  bool dispatch(const Fence& fence, Reply<Record>& reply) override;
  bool renew(const RenewRequest& request, Reply<Record>& reply) override;
  bool complete(const CompleteRequest& request, Reply<Record>& reply) override;
  bool release(const ReleaseRequest& request, Reply<Record>& reply) override;
  bool unknown(const UnknownRequest& request, Reply<Record>& reply) override;
  bool lookup(const Scope& scope, Reply<Record>& reply) override;
  // An engine asks none of these.
  bool resolve(const ResolveRequest&, Reply<Record>& reply) override { return refuse(reply); }
  bool lookup(const OperationId&, Reply<Record>& reply) override { return refuse(reply); }
  bool list(const ListRequest&, Reply<ListReply>& reply) override { return refuse(reply); }
  bool purge(const PurgeRequest&, Reply<PurgeReply>& reply) override { return refuse(reply); }
  bool stats(Reply<StoreStats>& reply) override { return refuse(reply); }
  void watch(const Scope& scope, std::function<void()> changed) override;
  void unwatch(const Scope& scope) override;
  bool keeps_marks() const override { return true; }

  void left_progress(const Scope& scope);
  void die();  // answers what is open, and everything from now on, with an error

 private:
  struct Open {
    virtual ~Open() = default;
    virtual void give_up() = 0;
  };
  template <class T>
  struct OpenReply;
  struct Watch {
    std::uint64_t number;
    std::function<void()> changed;
  };

  template <class T>
  static bool refuse(Reply<T>& reply) {
    reply.value = Error{Errc::refused, "not through this port"};
    return true;
  }
  template <class T, class Apply>
  bool ask(const char* verb, Reply<T>& reply, Apply apply);
  template <class T>
  std::shared_ptr<OpenReply<T>> opened(Reply<T>& reply);
  bool loses_reply();

  World& world_;
  Authority& authority_;
  std::vector<std::shared_ptr<Open>> open_;
  std::map<Scope, Watch> watches_;
  std::set<OwnerNonce> asked_;
  std::uint64_t next_watch_ = 0;
  bool lost_last_ = false;
  bool dead_ = false;
  // Events that were under way when the process died find it here, and find it dead.
  std::shared_ptr<Port*> self_ = std::make_shared<Port*>(this);

 public:
  ~Port() override { *self_ = nullptr; }
};

}  // namespace onceward::simulation
