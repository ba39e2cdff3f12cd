// An executor whose loop runs while its thread waits for a reply: it has rounds, and it can watch files, as
// the proxy's workers do. Made, used and destroyed on one thread; post() on any. No timers.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
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
  ~PollingExecutor() override {
    end();
    ::close(wake_);
  }
  // Ends as a worker's loop does: what it watched hears of it, and what is posted from then on is not run.
  void end() {
    deferred_.run();
    is_ending_ = true;
    for (const auto& one : watched_) one->end();
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
  bool can_defer() const override { return std::this_thread::get_id() == owner_ && !is_ending_; }
  void defer(Deferred& deferred) override { deferred_.add(deferred); }
  void undefer(Deferred& deferred) override { deferred_.remove(deferred); }
  bool watch(int file, FileWatch& watch) override {
    watched_.push_back(std::make_shared<Watched>(file, watch));
    watch.node = watched_.back();
    return true;
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
    std::erase_if(watched_, [](const auto& one) { return one->is_over(); });
    for (const auto& one : watched_) files.push_back({one->file, POLLIN, 0});
    ::poll(files.data(), files.size(), has_posted() ? 0 : -1);
    for (const pollfd& file : files) {
      if (file.revents == 0) continue;
      std::uint64_t count = 0;  // all of them are eventfds
      [[maybe_unused]] const auto read = ::read(file.fd, &count, sizeof count);
      for (const auto& one : watched_) {
        if (one->file == file.fd) one->run();
      }
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

  class Watched final : public FileWatch::Node {
   public:
    Watched(int its_file, FileWatch& its_watch) : file(its_file), watch_(&its_watch) {}
    void run() {
      const std::lock_guard lock(mutex_);
      if (watch_) watch_->run(watch_);
    }
    void end() {
      const std::lock_guard lock(mutex_);
      if (FileWatch* const last = std::exchange(watch_, nullptr)) last->ended(last);
    }
    void cut_off() override {
      const std::lock_guard lock(mutex_);
      watch_ = nullptr;
    }
    bool is_over() {
      const std::lock_guard lock(mutex_);
      return !watch_;
    }
    const int file;

   private:
    std::mutex mutex_;
    FileWatch* watch_;  // guarded by mutex_
  };

  const int wake_;
  const std::thread::id owner_ = std::this_thread::get_id();
  DeferredList deferred_;
  bool is_ending_ = false;
  std::vector<std::shared_ptr<Watched>> watched_;
  std::mutex mutex_;
  std::vector<Completion*> posted_;  // guarded by mutex_
};

}  // namespace onceward::testing
