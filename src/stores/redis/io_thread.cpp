#include "stores/redis/io_thread.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include "base/assert.hpp"

namespace onceward::redis {

IoThread::IoThread() {
  flush_.io = this;
  flush_.run = [](Completion* self) { static_cast<Flush*>(self)->io->flush(); };
}

IoThread::~IoThread() { ONCEWARD_ASSERT(!thread_.joinable()); }

void IoThread::start(std::function<void()> first) {
  worker_.call(std::move(first));
  thread_ = std::thread([this] { worker_.run(); });
}

void IoThread::stop(const std::function<void()>& last) {
  if (!thread_.joinable()) return;
  std::promise<void> idle;
  worker_.call([&] {
    last();
    tasks_.when_idle([&] { idle.set_value(); });
  });
  idle.get_future().wait();
  // What the last tasks answered is still to be posted.
  std::promise<void> flushed;
  worker_.call([&] {
    flush();
    flushed.set_value();
  });
  flushed.get_future().wait();
  worker_.stop();
  thread_.join();
}

void IoThread::deliver(Executor& executor, Completion& completion) {
  completion.next = nullptr;
  const auto found = std::ranges::find(deliveries_, &executor, &Delivery::executor);
  if (found == deliveries_.end()) {
    deliveries_.push_back({&executor, &completion, &completion});
  } else {
    found->last->next = &completion;
    found->last = &completion;
  }
  if (flushing_) return;
  flushing_ = true;
  worker_.post(&flush_);
}

void IoThread::flush() {
  flushing_ = false;
  for (const Delivery& delivery : std::exchange(deliveries_, {})) delivery.executor->post(delivery.first);
}

}  // namespace onceward::redis
