#include "onceward/middleware/httplib.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace onceward {
namespace {

using ::testing::HasSubstr;

class HttplibFilterTest : public ::testing::Test {
 protected:
  HttplibFilterTest() {
    server_.Post("/orders",
                 guarded(guard_, [this](const httplib::Request& request, httplib::Response& response) {
                   ++orders_;
                   EXPECT_EQ(request.get_header_value_count("Onceward-Epoch"),
                             request.get_header_value_count("Idempotency-Key"));
                   response.status = 201;
                   response.set_header("X-Files", std::to_string(request.files.size()));
                   response.set_content("order " + std::to_string(orders_), "text/plain");
                 }));
    server_.Post("/streams", guarded(guard_, [](const httplib::Request&, httplib::Response& response) {
                   response.set_content_provider("text/plain", [](std::size_t, httplib::DataSink& sink) {
                     sink.done();
                     return true;
                   });
                 }));
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    server_.set_keep_alive_timeout(1);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", port_);
  }
  ~HttplibFilterTest() override {
    client_.reset();
    server_.stop();
    thread_.join();
  }

  std::atomic<int> orders_ = 0;
  Engine engine_ = std::move(*Engine::open({}));
  HttpGuard guard_{engine_};
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttplibFilterTest, a_retry_gets_the_first_answer) {
  const httplib::Headers headers = {{"Idempotency-Key", "k"}};
  const auto first = client_->Post("/orders", headers, "a book", "text/plain");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 201);
  const auto again = client_->Post("/orders", headers, "a book", "text/plain");
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(again->body, "order 1");
  EXPECT_EQ(again->get_header_value("Content-Type"), "text/plain");
  EXPECT_EQ(again->get_header_value("Idempotent-Replayed"), "true");
  EXPECT_EQ(client_->Post("/orders?copy=1", headers, "a book", "text/plain")->status, 422);
  EXPECT_EQ(orders_, 1);
}

TEST_F(HttplibFilterTest, the_parts_of_a_form_count_and_its_boundary_does_not) {
  const httplib::Headers headers = {{"Idempotency-Key", "k"}};
  const auto post = [&](const std::string& content) {
    return client_->Post("/orders", headers,
                         httplib::MultipartFormDataItems{{"file", content, "a.txt", "text/plain"}});
  };
  const auto first = post("one");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->get_header_value("X-Files"), "1");
  EXPECT_EQ(post("one")->get_header_value("Idempotent-Replayed"), "true");
  EXPECT_EQ(post("two")->status, 422);
}

TEST_F(HttplibFilterTest, an_answer_that_streams_is_refused) {
  const auto answer =
      client_->Post("/streams", httplib::Headers{{"Idempotency-Key", "k"}}, "x", "text/plain");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500);
  EXPECT_THAT(answer->body, HasSubstr("cannot stream"));
}

}  // namespace
}  // namespace onceward
