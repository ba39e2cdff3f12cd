// UpstreamPool: what an Upstream and its leases share: the idle connections, the count of those in use,
// and the queue of requests that wait for one. One thread; alive until the last lease is gone.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "http/upstream_socket.hpp"
#include "http/url.hpp"
#include "net/address.hpp"
#include "net/resolver.hpp"
#include "net/tls.hpp"
#include "net/wait_list.hpp"

namespace onceward::http {

struct UpstreamPool {
  using Socket = std::unique_ptr<UpstreamSocket>;

  UpstreamPool(net::Worker& owner, const UpstreamOptions& settings, Url where, net::TlsContext context)
      : worker(owner),
        options(settings),
        url(std::move(where)),
        tls(std::move(context)),
        resolver(owner, url.host, url.port),
        turn(owner) {
    reaper.pool = this;
    reaper.run = [](Timer* self) { static_cast<Reaper*>(self)->pool->drop_old(); };
  }
  ~UpstreamPool() { worker.cancel(reaper); }

  Socket take_idle();  // with a place, or nothing
  Socket pop_idle();   // for who has a place; drops those that were heard to be closed
  bool is_usable(const UpstreamSocket& socket, MonoTime now) const;  // an idle one, as far as was heard
  void give_back(Socket socket);
  void drop_old();  // idle connections past their time, or closed by the upstream
  // Waits until one more connection may be in use; the place is then the caller's.
  Task<bool> take_place(MonoTime deadline);
  void leave_place();
  Task<Result<Socket>> open(MonoTime deadline);
  Task<Result<Socket>> open_at(net::SocketAddress address, MonoTime deadline);

  net::Worker& worker;
  UpstreamOptions options;
  Url url;
  net::TlsContext tls;
  net::Resolver resolver;
  std::vector<Socket> idle;  // the last one given back is the first one taken
  std::size_t in_use = 0;
  std::size_t promised = 0;  // places of waiters that were woken and have not run yet
  bool closed = false;
  net::WaitList turn;
  struct Reaper : Timer {
    UpstreamPool* pool = nullptr;
  } reaper;
};

}  // namespace onceward::http
