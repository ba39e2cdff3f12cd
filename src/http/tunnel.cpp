#include "http/tunnel.hpp"

#include "http/buffer.hpp"
#include "net/wait_list.hpp"

namespace onceward::http {
namespace {

struct Copying {
  explicit Copying(Executor& executor) : ended(executor) {}
  int running = 2;
  net::WaitList ended;
};

Task<> copy(TunnelEnd& from, TunnelEnd& to, Duration idle, Copying& copying) {
  bool fine = co_await to.stream.write_all(from.buffered, net::Worker::now() + idle);
  Buffer buffer;
  while (fine) {
    const net::IoResult result =
        co_await from.stream.read_some(buffer.room(Buffer::block_bytes), net::Worker::now() + idle);
    if (result.status == net::IoStatus::end) break;
    fine = result.status == net::IoStatus::ok;
    if (!fine) break;
    buffer.filled(result.bytes);
    fine = co_await to.stream.write_all(buffer.unread(), net::Worker::now() + idle);
    buffer.consume(buffer.unread().size());
  }
  if (fine) {
    to.stream.shutdown_write();
  } else {
    from.stream.close();
    to.stream.close();
  }
  if (--copying.running == 0) copying.ended.wake_all();
}

}  // namespace

Task<> tunnel(TunnelEnd& client, TunnelEnd& upstream, Duration idle) {
  Copying copying(client.stream.worker());
  spawn(copy(upstream, client, idle, copying));
  spawn(copy(client, upstream, idle, copying));
  if (copying.running != 0) co_await copying.ended.wait(MonoTime::max());
}

}  // namespace onceward::http
