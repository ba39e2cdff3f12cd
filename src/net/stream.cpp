#include "net/stream.hpp"

#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "net/socket_calls.hpp"

namespace onceward::net {
namespace {

constexpr std::size_t record_bytes = 16 * 1024;

// Small pieces joined, so that head and body share a TLS record. Of the thread and not of the stream: a
// retry joins the same bytes again, and an idle connection must be small.
thread_local std::string joined;

// Drops what was taken from the front of the pieces.
void drop_front(std::span<std::string_view> pieces, std::size_t bytes) {
  for (std::string_view& piece : pieces) {
    const std::size_t taken = std::min(bytes, piece.size());
    piece.remove_prefix(taken);
    bytes -= taken;
  }
}

// A head and a small body are sooner joined than told to the kernel as two.
constexpr std::size_t joined_bytes_max = 2048;

ssize_t send_pieces(int fd, std::span<const std::string_view> pieces) {
  std::array<iovec, 4> parts{};
  msghdr message{};
  message.msg_iov = parts.data();
  std::size_t total = 0;
  for (std::string_view piece : pieces) {
    if (piece.empty()) continue;
    parts[message.msg_iovlen++] = {const_cast<char*>(piece.data()), piece.size()};
    total += piece.size();
  }
  if (message.msg_iovlen == 1) return send_one(fd, static_cast<char*>(parts[0].iov_base), total);
  if (total > joined_bytes_max) return send_gathered(fd, message);
  std::array<char, joined_bytes_max> one;
  char* end = one.data();
  for (std::string_view piece : pieces) end += piece.copy(end, piece.size());
  return send_one(fd, one.data(), total);
}

bool all_empty(std::span<const std::string_view> pieces) {
  return std::ranges::all_of(pieces, [](std::string_view piece) { return piece.empty(); });
}

}  // namespace

Stream::Stream(Worker& worker, int fd) : worker_(worker), fd_(fd) {
  timer_.stream = this;
  timer_.run = [](Timer* self) { static_cast<DeadlineTimer*>(self)->stream->on_timer(); };
  worker_.loop().watch(fd_, *this);
}

Stream::~Stream() {
  ONCEWARD_ASSERT(!read_.waiting);
  ONCEWARD_ASSERT(!write_.waiting);
  worker_.cancel(timer_);
  worker_.loop().forget(*this);
  tls_.reset();
  ::close(fd_);
}

void Stream::on_event(std::uint32_t events) {
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) hung_up_ = true;
  if (events & (EPOLLHUP | EPOLLERR)) broken_ = true;
  const bool both = (events & (EPOLLHUP | EPOLLERR)) != 0 || tls_ != nullptr;
  const bool read_now = both || (events & (EPOLLIN | EPOLLRDHUP)) != 0;
  const bool write_now = both || (events & EPOLLOUT) != 0;
  read_.ready = read_.ready || read_now;
  write_.ready = write_.ready || write_now;
  // Resuming the reader may end this stream, so both are taken before either runs. A writer that waits
  // keeps the stream alive: its owner ends only after it.
  const auto writer = write_now ? std::exchange(write_.waiting, nullptr) : nullptr;
  const auto reader = read_now ? std::exchange(read_.waiting, nullptr) : nullptr;
  if (writer) writer.resume();
  if (reader) reader.resume();
}

// The timer is left armed when a wait ends: nearly every deadline is moved on before it comes.
void Stream::arm(MonoTime deadline) {
  if (!timer_.armed() || timer_.at > deadline) worker_.arm(timer_, deadline);
}

void Stream::on_timer() {
  const MonoTime now = Worker::now();
  MonoTime next = MonoTime::max();
  std::array<std::coroutine_handle<>, 2> due{};
  std::size_t count = 0;
  for (Side* side : {&write_, &read_}) {
    if (!side->waiting) continue;
    if (side->deadline > now) {
      next = std::min(next, side->deadline);
    } else {
      side->timed_out = true;
      due[count++] = std::exchange(side->waiting, nullptr);
    }
  }
  if (next != MonoTime::max()) worker_.arm(timer_, next);
  for (std::size_t i = 0; i < count; ++i) due[i].resume();
}

IoResult Stream::failed() {
  broken_ = true;
  return {IoStatus::error, 0};
}

IoResult Stream::try_read(std::span<char> into) {
  if (closed_) return {IoStatus::error, 0};
  if (tls_) {
    ERR_clear_error();
    const int n =
        SSL_read(tls_.get(), into.data(), static_cast<int>(std::min<std::size_t>(into.size(), 1 << 20)));
    if (n > 0) return {IoStatus::ok, static_cast<std::size_t>(n)};
    switch (SSL_get_error(tls_.get(), n)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        read_.ready = false;
        return {IoStatus::would_block, 0};
      case SSL_ERROR_ZERO_RETURN:
        return {IoStatus::end, 0};
      default:
        return failed();
    }
  }
  ssize_t n = 0;
  do n = receive(fd_, into.data(), into.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n == 0) return {IoStatus::end, 0};
  if (n > 0) {
    // A short read has emptied the socket: the next byte brings a new event.
    if (static_cast<std::size_t>(n) < into.size() && !hung_up_) read_.ready = false;
    return {IoStatus::ok, static_cast<std::size_t>(n)};
  }
  if (errno != EAGAIN && errno != EWOULDBLOCK) return failed();
  read_.ready = false;
  return {IoStatus::would_block, 0};
}

Task<IoResult> Stream::read_some(std::span<char> into, MonoTime deadline) {
  if (readable(deadline).await_ready() && breathe().await_ready() && !read_.interrupted) {
    const IoResult result = try_read(into);
    if (result.status != IoStatus::would_block) return Task<IoResult>::ready(result);
  }
  return wait_and_read(into, deadline);
}

Task<IoResult> Stream::wait_and_read(std::span<char> into, MonoTime deadline) {
  co_await breathe();
  while (true) {
    const IoStatus wait = co_await readable(deadline);
    if (wait != IoStatus::ok) co_return IoResult{wait, 0};
    const IoResult result = try_read(into);
    if (result.status != IoStatus::would_block) co_return result;
  }
}

IoResult Stream::try_write_tls(std::span<std::string_view> pieces) {
  std::string_view data = *std::ranges::find_if(pieces, [](auto piece) { return !piece.empty(); });
  std::size_t total = 0;
  for (std::string_view piece : pieces) total += piece.size();
  if (data.size() < total && total <= record_bytes) {
    joined.clear();
    for (std::string_view piece : pieces) joined.append(piece);
    data = joined;
  }
  ERR_clear_error();
  const int n =
      SSL_write(tls_.get(), data.data(), static_cast<int>(std::min<std::size_t>(data.size(), 1 << 20)));
  if (n > 0) return {IoStatus::ok, static_cast<std::size_t>(n)};
  switch (SSL_get_error(tls_.get(), n)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      write_.ready = false;
      return {IoStatus::would_block, 0};
    default:
      return failed();
  }
}

IoResult Stream::try_write(std::span<std::string_view> pieces) {
  if (closed_) return {IoStatus::error, 0};
  if (tls_) return try_write_tls(pieces);
  ssize_t n = 0;
  do n = send_pieces(fd_, pieces);
  while (n < 0 && errno == EINTR);
  if (n >= 0) {
    plain_bytes_out_ += static_cast<std::uint64_t>(n);
    return {IoStatus::ok, static_cast<std::size_t>(n)};
  }
  if (errno != EAGAIN && errno != EWOULDBLOCK) return failed();
  write_.ready = false;
  return {IoStatus::would_block, 0};
}

Task<bool> Stream::write_all(std::span<const std::string_view> pieces, MonoTime deadline) {
  return write_pieces(pieces, deadline, {});
}

Task<bool> Stream::write_steadily(std::span<const std::string_view> pieces, Duration patience) {
  return write_pieces(pieces, MonoTime::max(), patience);
}

Task<bool> Stream::write_pieces(std::span<const std::string_view> pieces, MonoTime deadline,
                                Duration patience) {
  ONCEWARD_ASSERT(pieces.size() <= pieces_max);
  Pieces left{};
  std::ranges::copy(pieces, left.begin());
  std::size_t bytes = 0;
  for (std::string_view piece : pieces) bytes += piece.size();
  if (bytes == 0) return Task<bool>::ready(true);
  const IoResult result = try_write(left);
  if (result.status == IoStatus::ok && result.bytes == bytes) return Task<bool>::ready(true);
  if (result.status != IoStatus::ok && result.status != IoStatus::would_block)
    return Task<bool>::ready(false);
  drop_front(left, result.bytes);
  return write_rest(left, deadline, patience);
}

Task<bool> Stream::write_rest(Pieces left, MonoTime deadline, Duration patience) {
  while (!all_empty(left)) {
    const IoResult result = try_write(left);
    if (result.status == IoStatus::ok) {
      drop_front(left, result.bytes);
      continue;
    }
    if (result.status != IoStatus::would_block) co_return false;
    const MonoTime until = patience == Duration::zero() ? deadline : Worker::now() + patience;
    if (co_await writable(until) != IoStatus::ok) co_return false;
  }
  co_return true;
}

Task<bool> Stream::write_all(std::string_view data, MonoTime deadline) {
  return write_all(std::array{data}, deadline);
}

std::uint64_t Stream::bytes_out() const {
  return tls_ ? BIO_number_written(SSL_get_wbio(tls_.get())) : plain_bytes_out_;
}

Task<bool> Stream::handshake(MonoTime deadline) {
  while (true) {
    if (closed_) co_return false;
    ERR_clear_error();
    const int done = SSL_do_handshake(tls_.get());
    if (done == 1) co_return true;
    const int error = SSL_get_error(tls_.get(), done);
    IoStatus wait = IoStatus::error;
    if (error == SSL_ERROR_WANT_READ) {
      read_.ready = false;
      wait = co_await readable(deadline);
    } else if (error == SSL_ERROR_WANT_WRITE) {
      write_.ready = false;
      wait = co_await writable(deadline);
    }
    if (wait != IoStatus::ok) {
      broken_ = true;
      co_return false;
    }
  }
}

// A request sent on a connection that was already closed has an unknown outcome, which costs somebody more
// than a system call. One look at all connections serves many.
bool Stream::is_still(MonoTime now) {
  if (!quiet()) return false;
  // TLS may have read ahead, and has messages of its own.
  const bool is_known =
      !tls_ && !read_.ready && worker_.loop().has_seen_all(looks_before_idle_, now) && news == 0;
  return is_known || ask_whether_still();
}

bool Stream::ask_whether_still() {
  char byte = 0;
  if (tls_) {
    ERR_clear_error();
    const int n = SSL_peek(tls_.get(), &byte, 1);
    return n <= 0 && SSL_get_error(tls_.get(), n) == SSL_ERROR_WANT_READ;
  }
  return receive(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Stream::shutdown_write() {
  if (closed_) return;
  if (tls_ && !broken_) {
    ERR_clear_error();
    SSL_shutdown(tls_.get());
  }
  ::shutdown(fd_, SHUT_WR);
}

void Stream::close() {
  if (closed_) return;
  closed_ = true;
  // The kernel answers with a hang-up event, which wakes whoever waits.
  ::shutdown(fd_, SHUT_RDWR);
}

void Stream::close_now() {
  close();
  const auto writer = std::exchange(write_.waiting, nullptr);
  const auto reader = std::exchange(read_.waiting, nullptr);
  if (writer) writer.resume();
  if (reader) reader.resume();
}

void Stream::reset() {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  closed_ = true;
  broken_ = true;
  ::shutdown(fd_, SHUT_RD);  // wakes a reader and tells the peer nothing yet
}

void Stream::interrupt_read() {
  read_.interrupted = true;
  if (!read_.waiting) return;
  // By the timer and not a post, because a timer can be cancelled should the stream end before it fires.
  read_.deadline = MonoTime{};
  worker_.arm(timer_, MonoTime{});
}

}  // namespace onceward::net
