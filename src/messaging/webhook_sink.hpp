// A webhook: one POST per event, several at a time, signed when there is a secret. 2xx is delivered; a 4xx
// that no repetition changes (all but 408, 425 and 429) is poison; everything else is tried again. It has an
// event loop on a thread of its own.
#pragma once

#include <memory>
#include <string>

#include "messaging/event_sink.hpp"
#include "net/tls.hpp"

namespace onceward::messaging {

struct WebhookOptions {
  std::string url;
  std::string secret;  // empty: not signed
  Duration timeout{5000};
  net::ClientTls tls{};
};

SendVerdict webhook_verdict(int status);

// Errc::invalid: the URL or a certificate cannot be used. Contacts nobody.
Result<std::unique_ptr<EventSink>> make_webhook_sink(const WebhookOptions& options);

}  // namespace onceward::messaging
