#include "messaging/sending_thread.hpp"

#include <coroutine>

#include "base/assert.hpp"

namespace onceward::messaging {

// Lives in the frame of whoever waits.
class SendingThread::Job : Completion {
 public:
  Job(SendingThread& thread, std::vector<PendingEvent> batch, MonoTime deadline)
      : thread_(thread), batch_(std::move(batch)), deadline_(deadline) {
    run = [](Completion* self) { static_cast<Job*>(self)->handle_.resume(); };
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    thread_.hand_over(*this);
  }
  std::vector<SendResult> await_resume() { return std::move(results_); }

  void work(EventSink& sink) {
    results_ = sink.send(batch_, deadline_);
    ONCEWARD_ASSERT(results_.size() == batch_.size());
    thread_.home_.post(this);
  }

 private:
  SendingThread& thread_;
  const std::vector<PendingEvent> batch_;
  const MonoTime deadline_;
  std::vector<SendResult> results_;
  std::coroutine_handle<> handle_;
};

SendingThread::SendingThread(std::unique_ptr<EventSink> sink, Executor& home)
    : sink_(std::move(sink)), home_(home), thread_([this] { run(); }) {}

SendingThread::~SendingThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Task<std::vector<SendResult>> SendingThread::send(std::vector<PendingEvent> batch, MonoTime deadline) {
  co_return co_await Job(*this, std::move(batch), deadline);
}

void SendingThread::hand_over(Job& job) {
  {
    std::lock_guard lock(mutex_);
    ONCEWARD_ASSERT(!waiting_);
    waiting_ = &job;
  }
  changed_.notify_one();
}

void SendingThread::run() {
  for (;;) {
    Job* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return waiting_ || stopping_; });
      if (!waiting_) return;
      job = std::exchange(waiting_, nullptr);
    }
    job->work(*sink_);
  }
}

}  // namespace onceward::messaging
