#include "proxy/probe_reply.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(ProbeReply, is_read_by_its_status) {
  ProbePolicy policy;
  policy.applied = {200, 409};
  policy.not_applied = {404, 410};
  const auto meaning = [&](int status) { return read_probe_reply({status, "", "", false}, policy).index(); };
  constexpr std::size_t happened = 0, did_not = 1, cannot_tell = 2;
  EXPECT_EQ(meaning(200), happened);
  EXPECT_EQ(meaning(409), happened);
  EXPECT_EQ(meaning(404), did_not);
  EXPECT_EQ(meaning(410), did_not);
  for (int status : {202, 204, 301, 400, 401, 403, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(meaning(status), cannot_tell) << status;
  }
}

TEST(ProbeReply, becomes_the_response_or_the_named_part_of_it) {
  ProbePolicy policy;
  const ProbeReply reply{200, "X-A: b\r\n", R"({"state":"done","answer": {"id":7, "sum":19.90}})", false};
  const auto response = [&](const ProbeReply& of) {
    const ProbeAnswer answer = read_probe_reply(of, policy);
    return std::holds_alternative<Applied>(answer) ? std::get<Applied>(answer).response : nullptr;
  };
  EXPECT_EQ(*response(reply), (Response{200, false, "X-A: b\r\n", reply.body}));
  policy.response = "/answer";
  policy.status = 201;
  EXPECT_EQ(*response(reply),
            (Response{201, false, "Content-Type: application/json\r\n", R"({"id":7, "sum":19.90})"}));
  policy.response = "/absent";
  EXPECT_FALSE(response(reply)) << "without its response nothing is settled";
  EXPECT_FALSE(response({200, "", "not json", false}));
  EXPECT_EQ(*response({200, "Location: /p/7\r\nX-A: b\r\n", "begun", true}),
            (Response{201, true, "Location: /p/7\r\n", ""}));
}

}  // namespace
}  // namespace onceward
