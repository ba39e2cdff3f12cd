#include "messaging/webhook_signature.hpp"

#include <gtest/gtest.h>

namespace onceward::messaging {
namespace {

// The published example of the scheme.
TEST(WebhookSignature, is_the_one_that_receivers_libraries_compute) {
  const Result<std::string> secret = webhook_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
  ASSERT_TRUE(secret);
  EXPECT_EQ(webhook_signature(*secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, a_secret_is_plain_text_or_base64_behind_its_prefix) {
  EXPECT_EQ(*webhook_secret("0123456789abcdef\r\n"), "0123456789abcdef");
  EXPECT_FALSE(webhook_secret("short"));
  EXPECT_FALSE(webhook_secret("whsec_%%%%"));
  EXPECT_FALSE(webhook_secret("whsec_AAAA"));
}

}  // namespace
}  // namespace onceward::messaging
