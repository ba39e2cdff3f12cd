// WorkerThread: a worker with a thread of its own, for what a command runs besides its main thread. The
// thread starts with run() and ends with the object; what was started on it must have ended before.
#pragma once

#include <thread>

#include "net/worker.hpp"

namespace onceward::cli {

struct WorkerThread {
  net::Worker worker;
  std::thread thread;

  WorkerThread() = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  void run() {
    thread = std::thread([this] { worker.run(); });
  }
  ~WorkerThread() { end(); }
  // What is on the worker is the caller's from then on.
  void end() {
    worker.stop();
    if (thread.joinable()) thread.join();
  }
};

}  // namespace onceward::cli
