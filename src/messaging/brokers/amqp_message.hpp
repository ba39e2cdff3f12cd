// A message as RabbitMQ delivers it, in our words. Pure.
#pragma once

#include <amqp.h>

#include "messaging/brokers/message_source.hpp"

namespace onceward::messaging {

// Without its delivery. Headers that are tables or arrays are left out.
Message message_of(const amqp_envelope_t& envelope);

}  // namespace onceward::messaging
