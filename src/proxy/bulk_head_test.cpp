#include "proxy/bulk_head.hpp"

#include <gtest/gtest.h>

#include "http/parser.hpp"
#include "support/fakes.hpp"

namespace onceward {
namespace {

class BulkHeadTest : public ::testing::Test {
 protected:
  BulkHeadTest() {
    rules_.fallback.policy = std::make_shared<const Policy>();
    rules_.seal();
    upstream_ = std::move(*http::Upstream::make(worker_, {.url = "http://127.0.0.1:9/base"}));
  }

  std::string written(const std::string& lines) {
    const std::string text = "POST /cases:approve HTTP/1.1\r\nHost: api.example\r\n" + lines + "\r\n";
    http::RequestHead request;
    EXPECT_EQ(http::parse_request_head(text, request).status, http::HeadParse::Status::done);
    http::PeerInfo peer;
    peer.address = "10.0.0.9";
    const BulkHead head(request, peer, rules_, KeyPolicy{}, random_, with_token_);
    reference_ = head.reference({true, "X-Batch"}, R"({"case":7})");
    std::string out;
    head.write(out, {"PUT", "/cases/7", "derived"}, 12,
               {.operation_id = {}, .epoch = 3, .hold_until = {}, .owner = {}}, *upstream_);
    return out;
  }

  Rules rules_;
  net::Worker worker_;
  std::unique_ptr<http::Upstream> upstream_;
  onceward::testing::SeededRandom random_{1};
  std::string reference_;
  bool with_token_ = false;
};

TEST_F(BulkHeadTest, is_that_of_the_request_with_the_items_own_words) {
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(
      written("Idempotency-Key: k\r\nAuthorization: Bearer b\r\nX-Tenant-ID: t\r\nX-Batch: friday\r\n"
              "Content-Type: application/json; charset=utf-8\r\nContent-Length: 400\r\ntraceparent: " +
              trace + "\r\n"),
      "PUT /base/cases/7 HTTP/1.1\r\nHost: api.example\r\nAuthorization: Bearer b\r\nX-Tenant-ID: t\r\n"
      "X-Batch: friday\r\nContent-Type: application/json; charset=utf-8\r\ntraceparent: " +
          trace +
          "\r\nX-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: api.example\r\n"
          "Content-Length: 12\r\nIdempotency-Key: derived\r\n"
          "Onceward-Operation-Id: 00000000-0000-0000-0000-000000000000\r\nOnceward-Epoch: 3\r\n\r\n");
  EXPECT_EQ(reference_, "friday");
}

TEST_F(BulkHeadTest, leaves_behind_what_is_true_of_the_whole_only) {
  for (const std::string line :
       {"Idempotency-Key: k", "Prefer: respond-async", "Range: bytes=0-1", "If-Match: \"a\"",
        "Content-Encoding: gzip", "content-md5: x", "Digest: x", "Signature: x", "Onceward-Token: t",
        "Onceward-Epoch: 9", "Connection: X-Gone\r\nX-Gone: 1", "TE: trailers"}) {
    EXPECT_EQ(written(line + "\r\n").find(line), std::string::npos) << line;
  }
}

TEST_F(BulkHeadTest, carries_a_token_where_a_service_may_finish_by_itself) {
  EXPECT_EQ(written("").find("Onceward-Token"), std::string::npos);
  with_token_ = true;
  EXPECT_NE(written("").find("Onceward-Token: "), std::string::npos);
}

TEST_F(BulkHeadTest, says_json_and_begins_a_trace_where_the_request_does_not) {
  const std::string out = written("");
  EXPECT_NE(out.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\r\ntraceparent: 00-"), std::string::npos) << out;
}

}  // namespace
}  // namespace onceward
