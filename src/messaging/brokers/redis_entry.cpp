#include "messaging/brokers/redis_entry.hpp"

#include <algorithm>
#include <boost/json.hpp>

namespace onceward::messaging {
namespace {

std::string body_field(const StreamFields& fields, const std::string& wanted) {
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(fields, [&](const auto& field) { return field.first == name; });
  };
  if (!wanted.empty()) return has(wanted) ? wanted : "";
  for (const char* name : {"payload", "body", "data"}) {
    if (has(name)) return name;
  }
  return {};
}

std::string as_object(const StreamFields& fields) {
  boost::json::object object;
  for (const auto& [name, value] : fields) object[name] = value;
  return boost::json::serialize(object);
}

}  // namespace

Message message_of(const std::string& entry, const StreamFields& fields, const std::string& body) {
  Message message;
  message.id = entry;
  const std::string body_name = body_field(fields, body);
  for (const auto& [name, value] : fields) {
    if (name == body_name) {
      message.body = value;
    } else if (name == "id") {
      message.id = value;
    } else if (name == "type") {
      message.type = value;
    } else if (name == "content_type" || name == "content-type") {
      message.content_type = value;
    } else {
      message.headers.emplace_back(name, value);
    }
  }
  if (body_name.empty()) {
    message.body = as_object(fields);
    message.content_type = "application/json";
  }
  message.delivery.entry = entry;
  return message;
}

StreamFields fields_of(const Message& message, const MessageHeaders& more) {
  StreamFields fields = {{"id", message.id}};
  if (!message.type.empty()) fields.emplace_back("type", message.type);
  if (!message.content_type.empty()) fields.emplace_back("content_type", message.content_type);
  fields.emplace_back("payload", message.body);
  for (const MessageHeaders* headers : {&message.headers, &more})
    fields.insert(fields.end(), headers->begin(), headers->end());
  return fields;
}

}  // namespace onceward::messaging
