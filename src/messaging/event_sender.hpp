// EventSender: sends batches without keeping the relay's thread. SendingThread does it with a sink that may
// block; tests answer from a script.
#pragma once

#include <vector>

#include "base/task.hpp"
#include "messaging/event_sink.hpp"

namespace onceward::messaging {

class EventSender {
 public:
  virtual ~EventSender() = default;
  // As EventSink::send; one call at a time.
  virtual Task<std::vector<SendResult>> send(std::vector<PendingEvent> batch, MonoTime deadline) = 0;
};

}  // namespace onceward::messaging
