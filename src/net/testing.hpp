// Support for tests of what runs on a worker: a worker on its own thread.
#pragma once

#include <functional>
#include <future>
#include <thread>

#include "base/task.hpp"
#include "net/worker.hpp"

namespace onceward::net::testing {

class WorkerThread {
 public:
  WorkerThread() : thread_([this] { worker_.run(); }) {}
  ~WorkerThread() {
    worker_.stop();
    thread_.join();
  }
  Worker& operator*() { return worker_; }

  // Runs the task on the worker and waits for its result.
  template <class T>
  T run(std::function<Task<T>()> make) {
    std::promise<T> done;
    worker_.call([&] { spawn(complete<T>(make, done)); });
    return done.get_future().get();
  }
  void run(std::function<void()> job) {
    std::promise<void> done;
    worker_.call([&] {
      job();
      done.set_value();
    });
    done.get_future().get();
  }

 private:
  template <class T>
  static Task<> complete(std::function<Task<T>()>& make, std::promise<T>& done) {
    done.set_value(co_await make());
  }
  Worker worker_;
  std::thread thread_;
};

}  // namespace onceward::net::testing
