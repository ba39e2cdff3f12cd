#include "messaging/brokers/make_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messaging/webhook_sink.hpp"

namespace onceward::messaging {
namespace {

using ::testing::HasSubstr;

TEST(MakeSink, what_cannot_work_is_refused_before_anything_is_sent) {
  struct Case {
    SinkOptions options;
    const char* why;
  };
  for (const auto& [options, why] :
       {Case{{.url = "http://127.0.0.1:1/a b"}, "%XX"}, Case{{.url = "http://:1/"}, "not a valid host"},
        Case{{.url = "http://h/", .secret = "short"},
             "outbox.secret_file: the secret has fewer than 16 bytes"},
        Case{{.url = "redis://h"}, "?stream=NAME"}, Case{{.url = "rediss://h"}, "?stream=NAME"},
        Case{{.url = "redis://h?stream=s&maxlen=x"}, "maxlen is a whole number"},
        Case{{.url = "redis://h?stream=s&maxlem=1"}, "maxlem"},
        Case{{.url = "redis://h/x?stream=s"}, "is a number"},
        Case{{.url = "kafka://h"}, "the topic is missing"}, Case{{.url = "amqp://h?colour=red"}, "colour"}}) {
    const Result<std::unique_ptr<EventSink>> sink = make_sink(options);
    ASSERT_FALSE(sink) << options.url;
    EXPECT_EQ(sink.error().code, Errc::invalid);
    EXPECT_THAT(sink.error().message, HasSubstr(why));
  }
}

TEST(MakeSink, a_receiver_that_is_not_there_means_try_again) {
  const Result<std::unique_ptr<EventSink>> hook = make_sink({.url = "http://127.0.0.1:1/hook"});
  const Result<std::unique_ptr<EventSink>> stream = make_sink({.url = "redis://127.0.0.1:1?stream=s"});
  ASSERT_TRUE(hook && stream);
  const std::vector<PendingEvent> batch(20);
  for (EventSink* sink : {hook->get(), stream->get()}) {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const std::vector<SendResult> results = sink->send(batch, soon);
    ASSERT_EQ(results.size(), batch.size());
    for (const SendResult& result : results) {
      EXPECT_EQ(result.verdict, SendVerdict::retry);
      EXPECT_NE(result.error, "");
    }
    const std::vector<SendResult> late = sink->send(batch, std::chrono::steady_clock::now());
    for (const SendResult& result : late) EXPECT_EQ(result.verdict, SendVerdict::untried);
  }
}

TEST(Webhook, the_status_says_whether_repeating_helps) {
  for (const int status : {200, 201, 204, 299})
    EXPECT_EQ(webhook_verdict(status), SendVerdict::delivered) << status;
  for (const int status : {400, 401, 404, 409, 410, 422})
    EXPECT_EQ(webhook_verdict(status), SendVerdict::poison) << status;
  for (const int status : {301, 307, 408, 425, 429, 500, 502, 503, 504})
    EXPECT_EQ(webhook_verdict(status), SendVerdict::retry) << status;
}

}  // namespace
}  // namespace onceward::messaging
