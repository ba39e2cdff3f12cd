// IoThread: a worker on a thread of its own, for what is asked from any thread and answered later. A
// question runs there as a coroutine; the answers of one turn of its loop reach each executor in one post.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "net/worker.hpp"
#include "onceward/store.hpp"
#include "stores/redis/task_group.hpp"

namespace onceward::redis {

class IoThread {
 public:
  IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;
  ~IoThread();

  net::Worker& worker() { return worker_; }
  TaskGroup& tasks() { return tasks_; }

  // Begins with `first`, on the thread.
  void start(std::function<void()> first);
  // Ends with `last`, which must bring every task to its end; returns when they have ended.
  void stop(const std::function<void()>& last);

  // Any thread: runs `make()`, a Task<Result<T>>, and posts what it returns.
  template <class T, class Make>
  void ask(Reply<T>& reply, Make make) {
    start_task([this, &reply, make = std::move(make)] { return answer<T>(make(), reply); });
  }
  // Any thread: runs `make()`, a Task<>.
  template <class Make>
  void start_task(Make make);

 private:
  struct Delivery {
    Executor* executor;
    Completion* first;
    Completion* last;
  };
  struct Flush : Completion {
    IoThread* io = nullptr;
  };

  template <class T>
  Task<> answer(Task<Result<T>> work, Reply<T>& reply) {
    reply.value = co_await std::move(work);
    deliver(*reply.executor, reply);
  }
  void deliver(Executor& executor, Completion& completion);
  void flush();

  net::Worker worker_;
  TaskGroup tasks_;
  std::vector<Delivery> deliveries_;  // of this turn
  Flush flush_;
  bool flushing_ = false;
  std::thread thread_;
};

template <class Make>
void IoThread::start_task(Make make) {
  struct Start : Completion {
    Start(IoThread& on, Make&& what) : io(on), make(std::move(what)) {
      this->run = [](Completion* self) {
        const std::unique_ptr<Start> start(static_cast<Start*>(self));
        start->io.tasks_.start(start->make());
      };
    }
    IoThread& io;
    Make make;
  };
  worker_.post(new Start(*this, std::move(make)));
}

}  // namespace onceward::redis
