#include "ops/log.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "base/assert.hpp"

namespace onceward {
namespace {

// How long the end of the process waits for a reader that has stopped reading.
constexpr std::chrono::milliseconds patience_at_exit{1000};
constexpr std::chrono::milliseconds poll_step{100};

Timestamp wall_clock() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// A ring of bytes from one producer to the writer. Only whole lines are published.
class Lane {
 public:
  explicit Lane(std::size_t bytes) : ring_(bytes) { ONCEWARD_ASSERT(std::has_single_bit(bytes)); }

  bool push(std::string_view line) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t used = head - tail_.load(std::memory_order_acquire);
    if (line.size() > ring_.size() - used) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return false;
    }
    const std::size_t at = head & (ring_.size() - 1);
    const std::size_t first = std::min(line.size(), ring_.size() - at);
    std::copy_n(line.data(), first, ring_.data() + at);
    std::copy_n(line.data() + first, line.size() - first, ring_.data());
    head_.store(head + line.size(), std::memory_order_release);
    return true;
  }

  // The writer's side: how far whole lines reach, the next bytes up to there in one piece, and how many
  // of them are done with.
  std::uint64_t published() const { return head_.load(std::memory_order_acquire); }
  std::string_view front(std::uint64_t end) const {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t used = end - tail;
    const std::size_t at = tail & (ring_.size() - 1);
    return {ring_.data() + at, static_cast<std::size_t>(std::min<std::uint64_t>(used, ring_.size() - at))};
  }
  void pop(std::size_t bytes) {
    tail_.store(tail_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<char> ring_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace

LogFormat choose_log_format(int fd, bool json) {
  if (json || isatty(fd) == 0) return LogFormat::json;
  return std::getenv("NO_COLOR") == nullptr ? LogFormat::colour : LogFormat::text;
}

struct Log::Writer {
  explicit Writer(const LogOptions& options) : fd(options.fd), format(options.format) {
    struct stat status{};
    // A pipe that polls writable takes PIPE_BUF bytes without blocking; a file takes anything.
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) chunk_bytes = std::size_t{1} << 16;
    for (std::size_t i = 0; i <= options.lanes; ++i)
      lanes.push_back(std::make_unique<Lane>(options.lane_bytes));
    thread = std::thread([this] { run(); });
  }

  ~Writer() {
    give_up_at.store((std::chrono::steady_clock::now() + patience_at_exit).time_since_epoch().count());
    stopping.store(true);
    wake();
    thread.join();
  }

  void wake() {
    if (!pending.exchange(true)) pending.notify_one();
  }

  std::uint64_t dropped() const {
    std::uint64_t total = 0;
    for (const auto& lane : lanes) total += lane->dropped();
    return total;
  }

  void run() {
    for (;;) {
      // Read before the lanes: what was handed over before the stop is still written.
      const bool last = stopping.load();
      pending.store(false);
      for (const auto& lane : lanes) drain(*lane);
      report_drops();
      rounds.fetch_add(1);
      rounds.notify_all();
      if (last) return;
      pending.wait(false);
    }
  }

  // What was there at the start and no more: one busy lane cannot keep the others waiting, and it ends
  // with a whole line although the ring may break one in two.
  void drain(Lane& lane) {
    const std::uint64_t end = lane.published();
    for (std::string_view bytes = lane.front(end); !bytes.empty(); bytes = lane.front(end)) {
      write_all(bytes);
      lane.pop(bytes.size());
    }
    if (lane.published() != end) wake();
  }

  void report_drops() {
    const std::uint64_t total = dropped();
    if (total == reported) return;
    std::string line;
    format_message(line, format, wall_clock(), LogLevel::warning,
                   "log lines were dropped: the log is read too slowly",
                   {{"dropped", static_cast<std::int64_t>(total - reported)}});
    reported = total;
    write_all(line);
  }

  // Gives the bytes up when the descriptor fails, or at the end of the process when nobody reads.
  void write_all(std::string_view bytes) const {
    while (!bytes.empty()) {
      pollfd poller{.fd = fd, .events = POLLOUT, .revents = 0};
      const int ready = poll(&poller, 1, static_cast<int>(poll_step.count()));
      if (ready <= 0) {
        if (stopping.load() &&
            std::chrono::steady_clock::now().time_since_epoch().count() > give_up_at.load())
          return;
        continue;
      }
      const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), chunk_bytes));
      if (written < 0 && errno != EINTR && errno != EAGAIN) return;
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  const int fd;
  const LogFormat format;
  std::size_t chunk_bytes = 4096;
  std::vector<std::unique_ptr<Lane>> lanes;  // one per worker, then one for everybody else
  std::mutex shared_lane;                    // producers of the last lane
  std::uint64_t reported = 0;                // the writer's own
  std::atomic<bool> pending{false};
  std::atomic<bool> stopping{false};
  std::atomic<std::int64_t> give_up_at{0};
  std::atomic<std::uint64_t> rounds{0};
  std::thread thread;
};

Log::Log(const LogOptions& options)
    : level_(options.level),
      access_(options.access && options.level != LogLevel::off),
      format_(options.format),
      writer_(std::make_unique<Writer>(options)) {}

Log::~Log() = default;

void Log::access(std::size_t lane, const AccessLine& line) {
  if (!access_) return;
  ONCEWARD_ASSERT(lane + 1 < writer_->lanes.size());
  thread_local std::string buffer;
  buffer.clear();
  format_access(buffer, format_, line);
  if (writer_->lanes[lane]->push(buffer)) writer_->wake();
}

void Log::message(LogLevel level, std::string_view text, std::initializer_list<LogField> fields) {
  if (level < level_ || level_ == LogLevel::off) return;
  std::string line;
  format_message(line, format_, wall_clock(), level, text, fields);
  {
    const std::lock_guard lock(writer_->shared_lane);
    writer_->lanes.back()->push(line);
  }
  writer_->wake();
}

std::uint64_t Log::dropped() const { return writer_->dropped(); }

void Log::flush() {
  // The round under way may have passed a lane already; the one after it sees everything.
  const std::uint64_t target = writer_->rounds.load() + 2;
  for (std::uint64_t seen = writer_->rounds.load(); seen < target; seen = writer_->rounds.load()) {
    writer_->wake();
    writer_->rounds.wait(seen);
  }
}

}  // namespace onceward
