// SendingThread: a thread on which a sink may block, so that leases are renewed meanwhile. Belongs to the
// relay; calls and answers are on the relay's executor.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "messaging/event_sender.hpp"

namespace onceward::messaging {

class SendingThread final : public EventSender {
 public:
  SendingThread(std::unique_ptr<EventSink> sink, Executor& home);
  ~SendingThread() override;  // nothing may be on its way
  SendingThread(const SendingThread&) = delete;
  SendingThread& operator=(const SendingThread&) = delete;

  Task<std::vector<SendResult>> send(std::vector<PendingEvent> batch, MonoTime deadline) override;

 private:
  class Job;
  void run();
  void hand_over(Job& job);

  const std::unique_ptr<EventSink> sink_;
  Executor& home_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Job* waiting_ = nullptr;  // guarded by mutex_
  bool stopping_ = false;   // guarded by mutex_
  std::thread thread_;
};

}  // namespace onceward::messaging
