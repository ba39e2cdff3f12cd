// CancelOnSignal: SIGINT and SIGTERM ask the work to stop instead of ending the process. Made by main()'s
// thread before any other thread, so that all of them leave the signals to it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <stop_token>
#include <thread>

namespace onceward::cli {

class CancelOnSignal {
 public:
  CancelOnSignal() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    watcher_ = std::thread([this] {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (!over_) source_.request_stop();
    });
  }
  ~CancelOnSignal() {
    over_ = true;
    pthread_kill(watcher_.native_handle(), SIGTERM);  // to the watcher alone, which waits for it
    watcher_.join();
  }
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source source_;
  std::atomic<bool> over_ = false;
  std::thread watcher_;
};

}  // namespace onceward::cli
