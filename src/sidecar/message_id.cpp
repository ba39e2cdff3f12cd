#include "sidecar/message_id.hpp"

#include "base/hex.hpp"
#include "base/sha256.hpp"
#include "core/json_value.hpp"

namespace onceward::sidecar {
namespace {

constexpr std::size_t id_bytes_max = 1024;

Error without(std::string_view rule) {
  return {Errc::invalid, "the message has no id at " + std::string(rule)};
}

}  // namespace

Result<std::string> message_id(const messaging::Message& message, std::string_view rule) {
  if (rule == "content") return to_hex(sha256(message.body));
  std::optional<std::string> id;
  if (rule == "message-id") {
    id = message.id;
  } else if (rule.starts_with("header:")) {
    id = message.find(rule.substr(7));
  } else {
    Result<std::string> value = json_value_at(message.body, rule.substr(5));
    if (value) id = std::move(*value);
  }
  if (!id || id->empty()) return without(rule);
  if (id->size() > id_bytes_max) return Error{Errc::invalid, "the message's id is longer than 1024 bytes"};
  return std::move(*id);
}

}  // namespace onceward::sidecar
