// Who writes the log next. Nobody may touch the writer once the turn is given on: the next one is at it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/embedded/log_writer.hpp"

namespace onceward::embedded {
namespace {

constexpr auto retry_every = std::chrono::milliseconds(100);

}  // namespace

void LogWriter::start() {
  thread_ = std::thread([this] { loop(); });
}

void LogWriter::close() {
  closing_ = true;
  if (idle_.exchange(false)) wake();
  if (thread_.joinable()) thread_.join();
}

void LogWriter::submit(Write* write) {
  if (rounds_.add(write)) return;
  queue_.push(write, write);
  if (idle_.load() && idle_.exchange(false)) wake();
}

void LogWriter::hand_over(OwnRing& own, Write* newest, Write* oldest) {
  if (newest) queue_.push(newest, oldest);
  if (std::exchange(own.holds_turn, false)) return go_on(&own);
  // Who finds it busy need do nothing: whoever has the turn looks into the queue before giving it back.
  if (idle_.load() && idle_.exchange(false)) go_on(&own);
}

void LogWriter::on_turn(OwnRing& own) { pass_on(std::exchange(given_, nullptr), &own); }

void LogWriter::on_end(OwnRing& own, bool wait) {
  const std::optional<std::int64_t> result = ops_.end_synced(own.ring(), wait);
  if (!result) return;
  own.is_writing = false;
  if (!blocks_.ended_well(*result)) {
    ended_ = result;
    return wake();
  }
  finish(Done{});
  // What waits now is what came while the disk was busy; what comes before the round's end can go with it.
  if (!wait && !queue_.empty() && rounds_.hold_turn(own)) return;
  go_on(&own);
}

// On a worker's thread, with the turn and nothing begun.
void LogWriter::go_on(OwnRing* here) {
  for (;;) {
    if (!queue_.empty()) return pass_on(queue_.take(), here);
    if (closing_) return wake();
    idle_ = true;
    // Who came before that has left it to us.
    if ((queue_.empty() && !closing_) || !idle_.exchange(false)) return;
  }
}

void LogWriter::pass_on(Write* list, OwnRing* here) {
  OwnRing* const who = who_can_begin(list, here);
  if (who && who == here) {
    here->is_writing = true;
    if (begin_batch(list, *here)) return;
    here->is_writing = false;
  } else if (who) {
    given_ = list;
    if (who->give_turn()) return;
  }
  given_ = list;
  wake();
}

bool LogWriter::give_away(Write* list) {
  OwnRing* const who = who_can_begin(list, nullptr);
  given_ = list;
  if (who && who->give_turn()) return true;
  given_ = nullptr;
  return false;
}

// One whose executor waits for an answer to some of it; best the one that is asking.
OwnRing* LogWriter::who_can_begin(const Write* list, OwnRing* here) {
  if (!is_usual(list)) return nullptr;
  OwnRing* found = nullptr;
  for (const Write* write = list; write; write = write->next) {
    if (!write->reply) continue;
    OwnRing* const own = rounds_.own_ring_of(write->executor);
    if (here && own == here && here->is_open()) return here;
    if (!found) found = own;
    if (!here && found) break;
  }
  return found == here ? nullptr : found;
}

// All of it fits into one batch, whose write needs nothing that may have to be waited for before it.
bool LogWriter::is_usual(const Write* list) const {
  if (stopped_ || closing_) return false;
  std::uint64_t bytes = batch_header_bytes;
  bool plain = true;
  for (const Write* write = list; write; write = write->next) {
    bytes += write->all_bytes();
    plain = plain && write->role == Role::record && write->parts.empty();
  }
  return aligned(bytes) <= std::min(room(), batch_bytes_max) &&
         blocks_.can_begin(*at_.segment, bytes, at_.end) &&
         (plain || at_.segment->header.format == format_version) && claims_have_room();
}

void LogWriter::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

// Until the thread has the turn (again).
void LogWriter::sleep(bool has_turn) {
  if (has_turn) {
    idle_ = true;
    if ((!queue_.empty() || closing_) && idle_.exchange(false)) return;
  }
  std::unique_lock lock(mutex_);
  const auto awaken = [this] { return woken_; };
  if (has_turn && stopped_ && !wake_.wait_for(lock, retry_every, awaken) && idle_.exchange(false)) return;
  wake_.wait(lock, awaken);
  woken_ = false;
}

void LogWriter::loop() {
  for (bool has_turn = true;;) {
    has_turn = work();
    if (has_turn && closing_ && queue_.empty()) break;
    sleep(has_turn);
    if (stopped_ && !given_ && queue_.empty() && !closing_) try_resume();
  }
  if (!stopped_ && room() > batch_header_bytes) (void)write_batch(nullptr, true);
}

// False: a worker has the turn now.
bool LogWriter::work() {
  if (const std::optional<std::int64_t> result = std::exchange(ended_, std::nullopt)) {
    if (!finish(blocks_.end_write(*at_.segment, buffer_, at_.end, *result))) try_resume();
  }
  for (;;) {
    Write* list = std::exchange(given_, nullptr);
    if (!list) {
      if (queue_.empty()) return true;
      list = queue_.take();
      if (give_away(list)) return false;
    }
    commit(list);
  }
}

}  // namespace onceward::embedded
