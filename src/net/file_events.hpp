// FileEvents: a worker's side of a FileWatch, whose owner may be gone before the worker is. The worker's
// thread tells it what happens; any thread may cut it off.
#pragma once

#include <sys/epoll.h>

#include <mutex>
#include <utility>

#include "net/watch.hpp"
#include "onceward/executor.hpp"

namespace onceward::net {

class FileEvents final : public Watch, public FileWatch::Node {
 public:
  FileEvents(int epoll, int file, FileWatch& watch) : epoll_(epoll), file_(file) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = static_cast<Watch*>(this);
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, file_, &event) == 0) watch_ = &watch;
  }

  bool is_cut_off() {
    const std::lock_guard lock(mutex_);
    return !watch_;
  }
  void on_event(std::uint32_t) override {
    const std::lock_guard lock(mutex_);
    if (watch_) watch_->run(watch_);
  }
  // The worker's thread ends.
  void end() {
    const std::lock_guard lock(mutex_);
    if (FileWatch* const last = take()) last->ended(last);
  }
  // What the worker has fetched of it already is still told, to nobody.
  void cut_off() override {
    const std::lock_guard lock(mutex_);
    take();
  }

 private:
  // While it is watched its file is open, and no other has its number.
  FileWatch* take() {
    if (watch_) epoll_ctl(epoll_, EPOLL_CTL_DEL, file_, nullptr);
    return std::exchange(watch_, nullptr);
  }

  const int epoll_;
  const int file_;
  std::mutex mutex_;  // held while the watch is told, so that nobody is told who was cut off
  FileWatch* watch_ = nullptr;
};

}  // namespace onceward::net
