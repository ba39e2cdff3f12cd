// By what a consumer tells one message from another (`consumers[].id`). Pure.
#pragma once

#include <string>
#include <string_view>

#include "messaging/brokers/message_source.hpp"
#include "onceward/result.hpp"

namespace onceward::sidecar {

// `rule` is message-id, header:NAME, json:/pointer or content. Errc::invalid: the message has no such id.
Result<std::string> message_id(const messaging::Message& message, std::string_view rule);

}  // namespace onceward::sidecar
