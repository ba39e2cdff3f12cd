// An entry of a Redis stream as a message, and back. Pure.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "messaging/brokers/message_source.hpp"

namespace onceward::messaging {

using StreamFields = std::vector<std::pair<std::string, std::string>>;

// The fields id, type and content_type are what their names say; the body is the field named `body`, by
// default payload, body or data, whichever is there first; without one, a JSON object of all fields. The rest
// are headers.
Message message_of(const std::string& entry, const StreamFields& fields, const std::string& body);

// The same message as fields, with more headers.
StreamFields fields_of(const Message& message, const MessageHeaders& more);

}  // namespace onceward::messaging
