// An executor whose loop runs while its thread waits for a reply: it has rounds, and it can watch files, as the
// proxy's workers do. Made, used and destroyed on one thread; post() on any. No timers.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "onceward/executor.hpp"
#include "onceward/store.hpp"

namespace onceward::testing {

class PollingExecutor final : public Executor {
 public:
  PollingExecutor() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { ONCEWARD_ASSERT(wake_ >= 0); }
  // Ends as a worker's thread does: what it watched hears of it, what is posted from then on is not run.
  ~PollingExecutor() override {
    deferred_.run();
    while (!watched_.empty()) {
      FileWatch* const last = watched_.back().watch;
      watched_.pop_back();
      last->ended(last);
    }
    ::close(wake_);
  }

  void post(Completion* first) override {
    const std::lock_guard lock(mutex_);
    for (; first; first = first->next) posted_.push_back(first);
    if (can_defer()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  }
  void arm(Timer&, MonoTime) override {
    constexpr bool has_timers = false;
    ONCEWARD_ASSERT(has_timers);
  }
  void cancel(Timer&) override {}
  bool can_defer() const override { return std::this_thread::get_id() == owner_; }
  void defer(Deferred& deferred) override { deferred_.add(deferred); }
  bool watch(int file, FileWatch& watch) override {
    watched_.push_back({file, &watch});
    return true;
  }
  // Here only from its own thread: a store is closed by the thread that used it.
  void unwatch(FileWatch& watch) override {
    std::erase_if(watched_, [&](const Watched& one) { return one.watch == &watch; });
  }

  // Calls a verb and waits for its reply.
  template <class T, class Start>
  Result<T> call(Start start) {
    struct Waiting : Reply<T> {
      using Reply<T>::Reply;
      bool done = false;
    } reply(*this);
    reply.run = [](Completion* self) { static_cast<Waiting*>(self)->done = true; };
    if (start(static_cast<Reply<T>&>(reply))) return std::move(reply.value);
    while (!reply.done) run_round();
    return std::move(reply.value);
  }
  void end_round() { deferred_.run(); }
  void run_round() {
    end_round();
    std::vector<pollfd> files{{wake_, POLLIN, 0}};
    for (const Watched& one : watched_) files.push_back({one.file, POLLIN, 0});
    ::poll(files.data(), files.size(), has_posted() ? 0 : -1);
    for (const pollfd& file : files) {
      if (file.revents == 0) continue;
      std::uint64_t count = 0;  // all of them are eventfds
      [[maybe_unused]] const auto read = ::read(file.fd, &count, sizeof count);
      const auto at = std::find_if(watched_.begin(), watched_.end(),
                                   [&](const Watched& one) { return one.file == file.fd; });
      if (at != watched_.end()) at->watch->run(at->watch);
    }
    std::vector<Completion*> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.swap(posted_);
    }
    for (Completion* completion : batch) completion->run(completion);
  }

 private:
  bool has_posted() {
    const std::lock_guard lock(mutex_);
    return !posted_.empty();
  }

  struct Watched {
    int file;
    FileWatch* watch;
  };

  const int wake_;
  const std::thread::id owner_ = std::this_thread::get_id();
  DeferredList deferred_;
  std::vector<Watched> watched_;
  std::mutex mutex_;
  std::vector<Completion*> posted_;  // guarded by mutex_
};

}  // namespace onceward::testing
