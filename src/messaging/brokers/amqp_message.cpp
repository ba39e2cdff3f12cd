#include "messaging/brokers/amqp_message.hpp"

#include "messaging/brokers/amqp_connection.hpp"

namespace onceward::messaging {
namespace {

std::optional<std::string> field_text(const amqp_field_value_t& field) {
  switch (field.kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      return text_of(field.value.bytes);
    case AMQP_FIELD_KIND_BOOLEAN:
      return field.value.boolean ? "true" : "false";
    case AMQP_FIELD_KIND_I8:
      return std::to_string(field.value.i8);
    case AMQP_FIELD_KIND_U8:
      return std::to_string(field.value.u8);
    case AMQP_FIELD_KIND_I16:
      return std::to_string(field.value.i16);
    case AMQP_FIELD_KIND_U16:
      return std::to_string(field.value.u16);
    case AMQP_FIELD_KIND_I32:
      return std::to_string(field.value.i32);
    case AMQP_FIELD_KIND_U32:
      return std::to_string(field.value.u32);
    case AMQP_FIELD_KIND_I64:
      return std::to_string(field.value.i64);
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
      return std::to_string(field.value.u64);
    default:
      return std::nullopt;
  }
}

}  // namespace

Message message_of(const amqp_envelope_t& envelope) {
  const amqp_basic_properties_t& properties = envelope.message.properties;
  Message message;
  if (properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) message.id = text_of(properties.message_id);
  if (properties._flags & AMQP_BASIC_TYPE_FLAG) message.type = text_of(properties.type);
  if (properties._flags & AMQP_BASIC_CONTENT_TYPE_FLAG)
    message.content_type = text_of(properties.content_type);
  message.key = text_of(envelope.routing_key);
  message.body = text_of(envelope.message.body);
  if (properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG)
    message.headers.emplace_back("correlation-id", text_of(properties.correlation_id));
  if (properties._flags & AMQP_BASIC_HEADERS_FLAG) {
    for (int i = 0; i < properties.headers.num_entries; ++i) {
      const amqp_table_entry_t& entry = properties.headers.entries[i];
      if (std::optional<std::string> value = field_text(entry.value))
        message.headers.emplace_back(text_of(entry.key), std::move(*value));
    }
  }
  return message;
}

}  // namespace onceward::messaging
