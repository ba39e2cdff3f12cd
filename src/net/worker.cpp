#include "net/worker.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "net/worker_io.hpp"

namespace onceward::net {
namespace {

// How long what is deferred waits while there is always something ready. The store defers its writes to
// disk: whatever comes in this time shares one sync, which costs as much as a whole request.
constexpr auto deferred_at_most = std::chrono::microseconds(250);

// Further than any round takes.
constexpr auto far_off = std::chrono::seconds(5);

// How long what a look has shown counts as known. The end of a connection takes as long to come here from
// another machine, so who must know that one is open is hardly worse off than if he had asked just now; from
// an upstream on this machine it takes less, and one that closes at that very moment may be missed.
constexpr auto look_lasts = std::chrono::microseconds(100);

struct Job : Completion {
  explicit Job(std::function<void()> what) : work(std::move(what)) {
    run = [](Completion* self) {
      const std::unique_ptr<Job> job(static_cast<Job*>(self));
      job->work();
    };
  }
  std::function<void()> work;
};

// The chain, last first. The mailbox is a stack, so what goes in reversed comes out in order.
Completion* reverse(Completion* first) {
  Completion* reversed = nullptr;
  while (first) {
    Completion* next = first->next;
    first->next = reversed;
    reversed = first;
    first = next;
  }
  return reversed;
}

}  // namespace

Worker::Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ONCEWARD_ASSERT(epoll_ >= 0);
  ONCEWARD_ASSERT(wake_ >= 0);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  ONCEWARD_ASSERT(epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0);
}

Worker::Loop::~Loop() {
  ::close(wake_);
  ::close(epoll_);
}

void Worker::Loop::watch(int fd, Watch& watch) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &watch;
  ONCEWARD_ASSERT(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
}

bool Worker::Loop::watch(int fd, FileWatch& watch) {
  std::erase_if(file_events_, [this](const std::shared_ptr<FileEvents>& events) {
    const bool is_over = events->is_cut_off();
    if (is_over) forget(*events);
    return is_over;
  });
  const auto events = std::make_shared<FileEvents>(epoll_, fd, watch);
  if (events->is_cut_off()) return false;
  watch.node = events;
  file_events_.push_back(events);
  return true;
}

void Worker::Loop::end_file_events() {
  for (const std::shared_ptr<FileEvents>& events : file_events_) events->end();
  file_events_.clear();
}

void Worker::Loop::forget(Watch& watch) {
  for (int i = 0; i < fetched_; ++i)
    if (events_[static_cast<std::size_t>(i)].data.ptr == &watch)
      events_[static_cast<std::size_t>(i)].data.ptr = nullptr;
}

void Worker::Loop::defer(Deferred& what) {
  if (deferred.empty()) deferred_since_ = looked_at_;
  deferred.add(what);
}

void Worker::Loop::Chain::add(Completion* chain) {
  *end = chain;
  while (*end) end = &(*end)->next;
}

Completion* Worker::Loop::Chain::take() {
  end = &first;
  return std::exchange(first, nullptr);
}

void Worker::Loop::leave(Completion& completion, Leaving what) {
  completion.next = nullptr;
  (what == Leaving::request ? requests_ : answers_).add(&completion);
}

void Worker::Loop::push(Completion* first) {
  // Nobody to wake, and nothing that another thread touches: it looks before it sleeps.
  if (on_own_thread()) return own_.add(first);
  Completion* const last = first;  // of the reversed chain
  Completion* const head = reverse(first);
  Completion* old = posted_.load(std::memory_order_relaxed);
  do last->next = old;
  while (!posted_.compare_exchange_weak(old, head, std::memory_order_release, std::memory_order_relaxed));
  if (!old) wake();  // whoever fills an empty mailbox wakes the worker
}

void Worker::Loop::wake() const {
  const std::uint64_t one = 1;
  // A full counter (EAGAIN) means that the worker is being woken already.
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void Worker::Loop::run_all(Completion* next) {
  while (next) {
    Completion* current = next;
    next = current->next;  // the completion may be gone once it has run
    current->next = nullptr;
    current->run(current);
  }
}

// What they post is for the next round. One's own first: whoever hears from this thread that it has posted,
// and posts then, comes behind it.
void Worker::Loop::run_posted() {
  Completion* const own = own_.take();
  Completion* const others = posted_.load(std::memory_order_relaxed)
                                 ? posted_.exchange(nullptr, std::memory_order_acquire)
                                 : nullptr;
  run_all(own);
  run_all(reverse(others));
}

// What an answer makes somebody send (the next one to requests that came together) is for the next round.
void Worker::Loop::run_leaving() {
  while (!requests_.empty()) run_all(requests_.take());
  run_all(answers_.take());
}

// Behind what was fetched already. False: there was no room for all.
bool Worker::Loop::fetch(int timeout_ms) {
  const int room = static_cast<int>(events_.size()) - fetched_;
  if (room == 0) return false;
  ++looks_;
  epoll_event* const begin = events_.data() + fetched_;
  const int count = epoll_wait(epoll_, begin, room, timeout_ms);
  ONCEWARD_ASSERT(count >= 0 || errno == EINTR);
  for (epoll_event* event = begin; event < begin + count; ++event)
    if (event->data.ptr) ++static_cast<Watch*>(event->data.ptr)->news;
  fetched_ += std::max(count, 0);
  if (count < 0 || count == room) return false;
  seen_all_by_ = looks_;
  return true;
}

bool Worker::Loop::has_seen_all(std::uint64_t looks_before, MonoTime now) {
  if (seen_all_by_ > looks_before && now - seen_all_at_ < look_lasts) return true;
  if (!fetch(0)) return false;
  seen_all_at_ = now;
  return true;
}

void Worker::Loop::dispatch() {
  while (told_ < fetched_) {
    const epoll_event& event = events_[static_cast<std::size_t>(told_++)];
    Watch* const watch = static_cast<Watch*>(event.data.ptr);
    if (!watch) continue;
    --watch->news;
    watch->on_event(event.events);
  }
  told_ = fetched_ = 0;
}

int Worker::Loop::timeout_ms() const {
  const bool has_work = fetched_ != 0 || has_own_work() || !deferred.empty();
  if (has_work || posted_.load(std::memory_order_acquire)) return 0;
  const auto next = timers.next();
  if (!next) return -1;
  // The round may have been long: what became due meanwhile must not wait for it once more. Unless that is
  // far off: then half of the way is as good, and the clock need not be asked.
  const auto seen = *next - looked_at_;
  const auto wait = seen > far_off ? seen / 2 : *next - Worker::now();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(wait);
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void Worker::Loop::run() {
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  looked_at_ = Worker::now();
  while (!stopping.load(std::memory_order_acquire)) {
    const bool is_all = fetch(timeout_ms());
    looked_at_ = Worker::now();
    if (is_all) seen_all_at_ = looked_at_;
    const bool is_quiet = fetched_ == 0 && !has_own_work() && !posted_.load(std::memory_order_relaxed);
    dispatch();
    timers.fire(looked_at_);
    run_posted();
    run_leaving();
    if (is_quiet || looked_at_ - deferred_since_ >= deferred_at_most) deferred.run();
  }
  deferred.run();
  fetched_ = told_ = 0;
  looked_at_ = {};
  owner_.store({}, std::memory_order_relaxed);
  end_file_events();  // who hears of it finds no loop that could be left something to do
}

Worker::Worker() : loop_(std::make_unique<Loop>()) {}
Worker::~Worker() = default;

void Worker::post(Completion* first) {
  if (first) loop_->push(first);
}
void Worker::arm(Timer& timer, MonoTime at) { loop_->timers.arm(timer, at); }
void Worker::cancel(Timer& timer) { loop_->timers.cancel(timer); }
bool Worker::at_round_end(Completion& completion, Leaving what) {
  loop_->leave(completion, what);
  return true;
}
bool Worker::can_defer() const { return loop_->on_own_thread(); }
void Worker::defer(Deferred& deferred) { loop_->defer(deferred); }
void Worker::undefer(Deferred& deferred) { loop_->deferred.remove(deferred); }
bool Worker::watch(int file, FileWatch& watch) { return loop_->watch(file, watch); }
void Worker::call(std::function<void()> job) { post(new Job(std::move(job))); }
void Worker::run() { loop_->run(); }

void Worker::stop() {
  loop_->stopping.store(true, std::memory_order_release);
  loop_->wake();
}

}  // namespace onceward::net
