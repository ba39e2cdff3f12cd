// The command that handling a message is: the same for an Inbox and for a consumer inside a transaction, so
// that a message that one has handled is known to the other. Pure.
#pragma once

#include "core/message_attempts.hpp"
#include "onceward/inbox.hpp"

namespace onceward::api {

inline Command command_for_message(const std::string& consumer, const Message& message) {
  return {.operation = consumer,
          .key = message.id,
          .payload = message.payload,
          .tenant = message.tenant,
          .caller = std::string(consumer_caller),
          .content_type = message.content_type};
}

}  // namespace onceward::api
