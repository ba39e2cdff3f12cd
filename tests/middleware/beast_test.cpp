#include "onceward/middleware/beast.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <stdexcept>
#include <thread>

namespace onceward {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using ::testing::HasSubstr;
using Request = BeastFilter::Request;
using Response = BeastFilter::Response;

Request post(const std::string& key, const std::string& body = "a book") {
  Request request{http::verb::post, "/orders", 11};
  request.set(http::field::host, "here");
  request.set("Idempotency-Key", key);
  request.body() = body;
  request.prepare_payload();
  return request;
}

class BeastFilterTest : public ::testing::Test {
 protected:
  Response create(const Request& request) {
    ++orders_;
    EXPECT_EQ(request.count("Onceward-Operation-Id"), request.count("Idempotency-Key"));
    if (request.body() == "throw") throw std::runtime_error("boom");
    Response response{http::status::created, request.version()};
    response.set(http::field::location, "/orders/" + std::to_string(orders_));
    response.insert("X-Twice", "1");
    response.insert("X-Twice", "2");
    response.body() = "order " + std::to_string(orders_);
    response.prepare_payload();
    return response;
  }

  int orders_ = 0;
  Engine engine_ = std::move(*Engine::open({}));
  HttpGuard guard_{engine_};
  BeastFilter filter_{guard_, [this](const Request& request) { return create(request); }};
};

TEST_F(BeastFilterTest, a_retry_gets_the_first_answer) {
  const Response first = filter_(post("k"));
  EXPECT_EQ(first.result(), http::status::created);
  const Response again = filter_(post("k"));
  EXPECT_EQ(again.result(), http::status::created);
  EXPECT_EQ(again.body(), "order 1");
  EXPECT_EQ(again["Idempotent-Replayed"], "true");
  EXPECT_EQ(again[http::field::location], "/orders/1");
  EXPECT_EQ(again.count("X-Twice"), 2u);
  EXPECT_EQ(again[http::field::content_length], "7");
  EXPECT_EQ(filter_(post("k", "a pen")).result(), http::status::unprocessable_entity);
  EXPECT_EQ(orders_, 1);
}

TEST_F(BeastFilterTest, without_a_key_it_is_not_there) {
  Request request = post("");
  request.erase("Idempotency-Key");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(filter_(request).result(), http::status::created);
  EXPECT_EQ(orders_, 2);
}

TEST_F(BeastFilterTest, the_asynchronous_call_runs_and_answers_on_the_handlers_executor) {
  asio::io_context context;
  const std::thread::id here = std::this_thread::get_id();
  std::vector<std::string> bodies;
  for (int i = 0; i < 2; ++i) {
    filter_.async_handle(post("k"), asio::bind_executor(context, [&](const Response& response) {
                           EXPECT_EQ(std::this_thread::get_id(), here);
                           bodies.push_back(response.body());
                         }));
  }
  context.run();
  EXPECT_THAT(bodies, ::testing::ElementsAre("order 1", "order 1"));
  EXPECT_EQ(orders_, 1);
}

TEST_F(BeastFilterTest, what_an_asynchronous_service_throws_leaves_the_outcome_unknown) {
  asio::io_context context;
  filter_.async_handle(post("k", "throw"), asio::bind_executor(context, [&](const Response& response) {
                         EXPECT_EQ(response.result(), http::status::internal_server_error);
                         EXPECT_EQ(response.count("Onceward-Outcome"), 0u);
                       }));
  context.run();
  EXPECT_THAT(filter_(post("k", "throw")).body(), HasSubstr("IDEMPOTENCY_OUTCOME_UNKNOWN"));
  EXPECT_EQ(orders_, 1);
}

// One connection of a Beast server as its documentation shows it, with the filter in the middle.
TEST_F(BeastFilterTest, it_stands_between_reading_and_writing_in_a_server) {
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
  std::thread server([&] {
    asio::ip::tcp::socket socket = acceptor.accept();
    boost::beast::flat_buffer buffer;
    for (int i = 0; i < 2; ++i) {
      Request request;
      http::read(socket, buffer, request);
      http::write(socket, filter_(request));
    }
  });
  asio::ip::tcp::socket client(context);
  client.connect(acceptor.local_endpoint());
  boost::beast::flat_buffer buffer;
  for (const char* replayed : {"", "true"}) {
    http::write(client, post("k"));
    Response response;
    http::read(client, buffer, response);
    EXPECT_EQ(response.body(), "order 1");
    EXPECT_EQ(response["Idempotent-Replayed"], replayed);
  }
  server.join();
}

}  // namespace
}  // namespace onceward
