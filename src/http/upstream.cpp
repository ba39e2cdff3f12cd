#include "http/upstream.hpp"

#include <algorithm>
#include <utility>

#include "http/upstream_pool.hpp"

namespace onceward::http {

Lease::Lease(std::shared_ptr<UpstreamPool> pool, std::unique_ptr<UpstreamSocket> socket)
    : pool_(std::move(pool)), socket_(std::move(socket)) {}
Lease::Lease() = default;
Lease::Lease(Lease&&) noexcept = default;
Lease::~Lease() { release(); }

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::move(other.pool_);
  socket_ = std::move(other.socket_);
  return *this;
}

void Lease::release() {
  if (socket_) pool_->give_back(std::move(socket_));
  pool_.reset();
}

bool Lease::reused() const { return socket_->reused; }
bool Lease::is_still(MonoTime now) const { return socket_->stream.is_still(now); }

Task<Sent> Lease::send(std::string_view head, std::string_view body, MonoTime deadline) {
  return socket_->send(head, body, {}, deadline);
}
Task<Sent> Lease::send_more(std::string_view data, MonoTime deadline) {
  return socket_->send(data, {}, {}, deadline);
}
Task<Sent> Lease::send_chunk(std::string_view data, MonoTime deadline) {
  return socket_->send_chunk(data, deadline);
}
Task<Sent> Lease::send_last_chunk(MonoTime deadline) { return socket_->send("0\r\n\r\n", {}, {}, deadline); }
Task<HeadStatus> Lease::read_head(std::string_view method, MonoTime deadline) {
  return socket_->read_head(method, deadline);
}
const ResponseHead& Lease::head() const { return socket_->head; }
Task<BodyPiece> Lease::read_body_some(MonoTime deadline) { return socket_->read_body_some(deadline); }
Task<BodyStatus> Lease::read_body(std::size_t limit, std::string& out, MonoTime deadline) {
  return socket_->read_body(limit, out, deadline);
}
bool Lease::body_buffered() const { return socket_->body_buffered(); }
std::uint64_t Lease::bytes_seen() const { return socket_->bytes_seen; }
void Lease::close() { socket_->stream.close(); }
net::Stream& Lease::stream() { return socket_->stream; }
std::string_view Lease::buffered() const { return socket_->in.unread(); }

Result<std::unique_ptr<Upstream>> Upstream::make(net::Worker& worker, const UpstreamOptions& options) {
  auto url = parse_url(options.url);
  if (!url) return url.error();
  net::TlsContext tls;
  if (url->tls) {
    auto context = net::make_client_tls(options.tls);
    if (!context) return context.error();
    tls = std::move(*context);
  }
  auto pool = std::make_shared<UpstreamPool>(worker, options, std::move(*url), std::move(tls));
  return std::unique_ptr<Upstream>(new Upstream(std::move(pool)));
}

Upstream::Upstream(std::shared_ptr<UpstreamPool> pool) : pool_(std::move(pool)) {}

Upstream::~Upstream() {
  pool_->closed = true;
  pool_->idle.clear();
}

const UpstreamOptions& Upstream::options() const { return pool_->options; }
std::string_view Upstream::authority() const { return pool_->url.authority; }
std::string_view Upstream::base_path() const { return pool_->url.base_path; }
std::size_t Upstream::idle() const { return pool_->idle.size(); }
std::size_t Upstream::in_use() const { return pool_->in_use; }

Lease Upstream::reserve_idle() {
  auto socket = pool_->take_idle();
  return socket ? Lease(pool_, std::move(socket)) : Lease();
}

Lease Upstream::checkout_idle() {
  Lease lease = reserve_idle();
  if (!lease) return lease;
  const MonoTime now = net::Worker::now();
  while (lease && !lease.is_still(now)) {
    lease.close();  // else it would go back, to be found again
    lease = reserve_idle();
  }
  return lease;
}

Task<Result<Lease>> Upstream::connect(MonoTime deadline) {
  const auto pool = pool_;  // a reload may end us while we wait
  deadline = std::min<MonoTime>(deadline, net::Worker::now() + pool->options.connect_timeout);
  const bool must_wait = pool->in_use + pool->promised >= pool->options.max_connections;
  if (!co_await pool->take_place(deadline))
    co_return Error{Errc::refused, "all connections to the upstream are in use"};
  if (must_wait) {
    // Most likely a connection was given back for us.
    while (auto socket = pool->pop_idle())
      if (socket->stream.is_still(net::Worker::now())) co_return Lease(pool, std::move(socket));
  }
  auto socket = co_await pool->open(deadline);
  if (!socket) {
    pool->leave_place();
    co_return socket.error();
  }
  co_return Lease(pool, std::move(*socket));
}

Task<Result<Lease>> Upstream::checkout(MonoTime deadline) {
  if (Lease idle = checkout_idle()) co_return std::move(idle);
  co_return co_await connect(deadline);
}

}  // namespace onceward::http
