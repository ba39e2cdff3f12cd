// EventSink: where the relay's events go: a webhook, a stream, a broker. Owned by the relay and called on its
// sending thread only, so an implementation may block and needs no locks; it connects when it is first needed
// and again when a connection was lost.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "onceward/outbox_store.hpp"

namespace onceward::messaging {

enum class SendVerdict : std::uint8_t {
  delivered,  // the receiver has confirmed that it has it
  retry,      // not confirmed: it may or may not have arrived, and is sent again later
  poison,     // the receiver will never take this one: set aside at once
  untried,    // certainly not sent (the deadline came first); counts as no attempt
};

struct SendResult {
  SendVerdict verdict = SendVerdict::untried;
  std::string error;  // for retry and poison: what an operator reads, without secrets
};

class EventSink {
 public:
  virtual ~EventSink() = default;

  // Sends each event once and returns one result per event, in their order. A batch holds at most one event
  // of a scope, so its events may be sent side by side. Nothing new is sent after `deadline` (steady clock):
  // from then on another relay may be at work on the same events. Returns soon after it, confirmed or not.
  virtual std::vector<SendResult> send(std::span<const PendingEvent> batch, MonoTime deadline) = 0;
};

}  // namespace onceward::messaging
