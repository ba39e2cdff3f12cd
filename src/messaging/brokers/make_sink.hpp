// The sink that a URL names: the one place that knows them all.
#pragma once

#include <memory>
#include <string>

#include "messaging/event_sink.hpp"

namespace onceward::messaging {

struct SinkOptions {
  std::string url;
  std::string exchange;  // amqp
  std::string secret;    // of webhooks, as in the file; empty: not signed
  Duration timeout{5000};
};

// Errc::invalid: it cannot work. Contacts nobody.
Result<std::unique_ptr<EventSink>> make_sink(const SinkOptions& options);

}  // namespace onceward::messaging
