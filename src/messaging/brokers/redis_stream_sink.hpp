// A Redis stream: XADD per event, pipelined, with the fields id, type, content_type and payload. The server's
// reply is the confirmation; how durable that is, is the server's matter.
#pragma once

#include <memory>

#include "messaging/brokers/broker_url.hpp"
#include "messaging/event_sink.hpp"

namespace onceward::messaging {

// redis(s)://[[user]:password@]host[:port][/db]?stream=NAME[&maxlen=N], N being about how many entries the
// stream keeps. Errc::invalid: the URL cannot be used. Contacts nobody.
Result<std::unique_ptr<EventSink>> make_redis_stream_sink(const BrokerUrl& url);

}  // namespace onceward::messaging
