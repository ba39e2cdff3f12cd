// Stream: one connected socket of a worker, plain or TLS. It tries first and waits only when the kernel
// has nothing; readiness is remembered from edge-triggered events, so a wait costs no system call.
// One reader and one writer at a time; deadlines end the waiting, never the connection.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/task.hpp"
#include "net/tls.hpp"
#include "net/worker_io.hpp"

namespace onceward::net {

enum class IoStatus : std::uint8_t { ok, would_block, end, error, timeout, interrupted };

struct IoResult {
  IoStatus status = IoStatus::ok;
  std::size_t bytes = 0;
};

class Stream final : Watch {
 public:
  Stream(Worker& worker, int fd);  // owns the non-blocking descriptor
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Worker& worker() { return worker_; }
  int fd() const { return fd_; }

  class Wait;
  // co_await: ok (something may have come), timeout, interrupted. Does not wait when it need not.
  Wait readable(MonoTime deadline);
  Wait writable(MonoTime deadline);

  // What a caller that reads the descriptor itself has found (accept).
  void not_readable() { read_.ready = false; }

  IoResult try_read(std::span<char> into);
  Task<IoResult> read_some(std::span<char> into, MonoTime deadline);
  // All pieces (at most 4), gathered into one system call where possible.
  Task<bool> write_all(std::span<const std::string_view> pieces, MonoTime deadline);
  Task<bool> write_all(std::string_view data, MonoTime deadline);
  // The same, but the time begins anew whenever the peer has taken something.
  Task<bool> write_steadily(std::span<const std::string_view> pieces, Duration patience);
  // How many bytes the kernel has taken so far; decides whether a failed send left anything behind.
  std::uint64_t bytes_out() const;

  // Lets others run after many steps that did not have to wait: one busy peer must not hold the worker.
  class Breath;
  Breath breathe();

  // TLS. The handshake ends with false when it fails or the deadline comes.
  void use_tls(TlsSession session) { tls_ = std::move(session); }
  Task<bool> handshake(MonoTime deadline);
  const TlsSession& tls() const { return tls_; }

  bool broken() const {
    return broken_ || closed_;
  }  // nobody can be at the other end any more  // An idle connection that is neither closed nor has
     // unexpected data: quiet() as far as the loop has heard,
  // is_still() as far as can be known now.
  void begins_idle() { looks_before_idle_ = worker_.loop().looks(); }
  bool quiet() const { return !broken() && !hung_up_; }
  bool is_still(MonoTime now);
  void shutdown_write();
  void close();           // wakes reader and writer; the descriptor goes with the object
  void close_now();       // close() that resumes them before it returns
  void reset();           // close() that the peer sees as an abort, not as an end
  void interrupt_read();  // the reader, now or next, gets `interrupted` once
  void allow_read() { read_.interrupted = false; }  // the next one does not, if none did

 private:
  struct Side {
    bool ready = false;
    bool interrupted = false;
    bool timed_out = false;
    std::coroutine_handle<> waiting;
    MonoTime deadline = MonoTime::max();
  };
  struct DeadlineTimer : Timer {
    Stream* stream = nullptr;
  };
  void on_event(std::uint32_t events) override;
  void on_timer();
  void arm(MonoTime deadline);
  static constexpr std::size_t pieces_max = 4;
  using Pieces = std::array<std::string_view, pieces_max>;
  Task<IoResult> wait_and_read(std::span<char> into, MonoTime deadline);
  Task<bool> write_pieces(std::span<const std::string_view> pieces, MonoTime deadline, Duration patience);
  Task<bool> write_rest(Pieces left, MonoTime deadline, Duration patience);
  IoResult try_write(std::span<std::string_view> pieces);
  IoResult try_write_tls(std::span<std::string_view> pieces);
  IoResult failed();
  bool ask_whether_still();

  Worker& worker_;
  int fd_;
  bool closed_ = false;
  bool broken_ = false;
  bool hung_up_ = false;  // the peer has sent its end: a short read is not the last one
  int steps_ = 0;         // since something had to wait
  std::uint64_t looks_before_idle_ = 0;
  Side read_;
  Side write_;
  DeadlineTimer timer_;
  std::uint64_t plain_bytes_out_ = 0;
  TlsSession tls_;
};

class Stream::Wait {
 public:
  Wait(Stream& stream, Side& side, MonoTime deadline) : stream_(stream), side_(side), deadline_(deadline) {}
  bool await_ready() const noexcept { return side_.ready || side_.interrupted || stream_.closed_; }
  void await_suspend(std::coroutine_handle<> handle) {
    ONCEWARD_ASSERT(!side_.waiting);
    side_.waiting = handle;
    side_.timed_out = false;
    stream_.steps_ = 0;
    side_.deadline = deadline_;
    if (deadline_ != MonoTime::max()) stream_.arm(deadline_);
  }
  IoStatus await_resume() noexcept {
    if (std::exchange(side_.interrupted, false)) return IoStatus::interrupted;
    if (stream_.closed_) return IoStatus::error;
    if (!side_.ready && std::exchange(side_.timed_out, false)) return IoStatus::timeout;
    return IoStatus::ok;
  }

 private:
  Stream& stream_;
  Side& side_;
  MonoTime deadline_;
};

class Stream::Breath : Completion {
 public:
  explicit Breath(Stream& stream) : stream_(stream) {
    this->run = [](Completion* self) { static_cast<Breath*>(self)->handle_.resume(); };
  }
  bool await_ready() noexcept { return ++stream_.steps_ < steps_max; }
  void await_suspend(std::coroutine_handle<> handle) {
    stream_.steps_ = 0;
    handle_ = handle;
    stream_.worker_.post(this);
  }
  void await_resume() const noexcept {}

 private:
  static constexpr int steps_max = 32;
  Stream& stream_;
  std::coroutine_handle<> handle_;
};

inline Stream::Breath Stream::breathe() { return Breath(*this); }
inline Stream::Wait Stream::readable(MonoTime deadline) { return Wait(*this, read_, deadline); }
inline Stream::Wait Stream::writable(MonoTime deadline) { return Wait(*this, write_, deadline); }

}  // namespace onceward::net
