#include "messaging/brokers/make_sink.hpp"

#include "messaging/brokers/broker_sink.hpp"
#include "messaging/brokers/broker_url.hpp"
#include "messaging/brokers/redis_stream_sink.hpp"
#include "messaging/webhook_signature.hpp"
#include "messaging/webhook_sink.hpp"

namespace onceward::messaging {
namespace {

Error invalid(std::string why) { return {Errc::invalid, "outbox.sink: " + std::move(why)}; }

Result<std::unique_ptr<EventSink>> webhook(const SinkOptions& options) {
  WebhookOptions webhook{.url = options.url, .timeout = options.timeout};
  if (!options.secret.empty()) {
    Result<std::string> secret = webhook_secret(options.secret);
    if (!secret) return Error{Errc::invalid, "outbox.secret_file: " + secret.error().message};
    webhook.secret = std::move(*secret);
  }
  return make_webhook_sink(webhook);
}

}  // namespace

Result<std::unique_ptr<EventSink>> make_sink(const SinkOptions& options) {
  if (options.url.starts_with("http://") || options.url.starts_with("https://")) return webhook(options);
  const Result<BrokerUrl> url = parse_broker_url(options.url);
  if (!url) return invalid(url.error().message);
  Result<std::unique_ptr<EventSink>> sink = is_broker_scheme(url->scheme)
                                                ? open_broker_sink(options.url, options.exchange)
                                                : make_redis_stream_sink(*url);
  if (!sink) return invalid(sink.error().message);
  return sink;
}

}  // namespace onceward::messaging
