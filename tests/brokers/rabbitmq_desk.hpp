// RabbitmqDesk: a test's own hands on the broker: makes queues, puts messages in, takes them out. Test thread
// only.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "messaging/brokers/amqp_connection.hpp"

namespace onceward::messaging {

inline AmqpOptions broker_of_the_test() {
  const char* url = std::getenv("ONCEWARD_TEST_RABBITMQ");
  if (!url) throw std::runtime_error("run by tests/servers/with rabbitmq");
  return *amqp_options(*parse_broker_url(url), {});
}

inline std::string broker_url_of_the_test() { return std::getenv("ONCEWARD_TEST_RABBITMQ"); }

// A name of its own for each test: the broker is shared.
inline std::string named(const std::string& what) {
  return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "." + what;
}

struct Taken {
  std::string id;
  std::string type;
  std::string content_type;
  std::string body;
  bool persistent = false;
  std::string header(const std::string& name) const {
    for (const auto& [each, value] : headers) {
      if (each == name) return value;
    }
    return {};
  }
  std::vector<std::pair<std::string, std::string>> headers = {};
};

class RabbitmqDesk {
 public:
  RabbitmqDesk() : connection_(std::move(*AmqpConnection::open(broker_of_the_test()))) {}

  void queue(const std::string& name, bool durable = true) {
    amqp_queue_declare(state(), channel, bytes_of(name), 0, durable, 0, 0, amqp_empty_table);
    check("queue");
  }
  void drop_queue(const std::string& name) {
    amqp_queue_delete(state(), channel, bytes_of(name), 0, 0);
    check("delete");
  }
  void exchange(const std::string& name) {
    amqp_exchange_declare(state(), channel, bytes_of(name), amqp_cstring_bytes("topic"), 0, 1, 0, 0,
                          amqp_empty_table);
    check("exchange");
  }
  void bind(const std::string& queue_name, const std::string& exchange_name, const std::string& pattern) {
    amqp_queue_bind(state(), channel, bytes_of(queue_name), bytes_of(exchange_name), bytes_of(pattern),
                    amqp_empty_table);
    check("bind");
  }
  void put(const std::string& queue_name, const std::string& id, const std::string& body) {
    amqp_basic_properties_t properties{};
    properties._flags =
        AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG;
    properties.message_id = bytes_of(id);
    properties.delivery_mode = 2;
    properties.content_type = amqp_cstring_bytes("application/json");
    ASSERT_EQ(amqp_basic_publish(state(), channel, amqp_empty_bytes, bytes_of(queue_name), 1, 0, &properties,
                                 bytes_of(body)),
              AMQP_STATUS_OK);
  }
  // Waits for one, a while.
  std::optional<Taken> take(const std::string& queue_name, Duration limit = Duration(30'000)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    do {
      if (std::optional<Taken> taken = try_take(queue_name)) return taken;
      std::this_thread::sleep_for(Duration(10));
    } while (std::chrono::steady_clock::now() < end);
    return std::nullopt;
  }
  std::optional<Taken> try_take(const std::string& queue_name) {
    amqp_maybe_release_buffers(state());
    const amqp_rpc_reply_t reply = amqp_basic_get(state(), channel, bytes_of(queue_name), 1);
    EXPECT_EQ(reply.reply_type, AMQP_RESPONSE_NORMAL) << describe(reply);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL || reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD)
      return std::nullopt;
    amqp_message_t message;
    EXPECT_TRUE(connection_->read_content(message));
    Taken taken{text_of(message.properties.message_id), text_of(message.properties.type),
                text_of(message.properties.content_type), text_of(message.body),
                message.properties.delivery_mode == 2};
    for (int i = 0; i < message.properties.headers.num_entries; ++i) {
      const amqp_table_entry_t& entry = message.properties.headers.entries[i];
      taken.headers.emplace_back(text_of(entry.key), text_of(entry.value.value.bytes));
    }
    amqp_destroy_message(&message);
    return taken;
  }
  int waiting_in(const std::string& queue_name) {
    const amqp_queue_declare_ok_t* ok =
        amqp_queue_declare(state(), channel, bytes_of(queue_name), 1, 0, 0, 0, amqp_empty_table);
    check("count");
    return ok ? static_cast<int>(ok->message_count) : -1;
  }

 private:
  static constexpr amqp_channel_t channel = AmqpConnection::channel;
  amqp_connection_state_t state() { return connection_->state(); }
  void check(const char* what) {
    const Result<Done> answered = connection_->answered(what);
    ASSERT_TRUE(answered) << answered.error().message;
  }

  std::unique_ptr<AmqpConnection> connection_;
};

}  // namespace onceward::messaging
