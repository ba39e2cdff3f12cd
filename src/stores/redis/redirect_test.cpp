#include <gtest/gtest.h>

#include "stores/redis/router.hpp"

namespace onceward::redis {
namespace {

TEST(Redirect, is_read_from_the_servers_error) {
  struct Case {
    const char* reply;
    Refusal kind;
    Endpoint to;
  };
  const Case cases[] = {
      {"+OK\r\n", Refusal::none, {}},
      {"-ERR unknown command\r\n", Refusal::none, {}},
      {"-MOVED 3999 127.0.0.1:6381\r\n", Refusal::moved, {"127.0.0.1", "6381"}},
      {"-MOVED 3999 ::1:6381\r\n", Refusal::moved, {"::1", "6381"}},
      {"-MOVED 3999 :6381\r\n", Refusal::moved, {"", "6381"}},
      {"-ASK 3999 10.0.0.1:7000\r\n", Refusal::ask, {"10.0.0.1", "7000"}},
      {"-TRYAGAIN Multiple keys request during rehashing of slot\r\n", Refusal::try_again, {}},
      {"-CLUSTERDOWN Hash slot not served\r\n", Refusal::try_again, {}},
      {"-READONLY You can't write against a read only replica.\r\n", Refusal::not_now, {}},
      {"-LOADING Redis is loading the dataset in memory\r\n", Refusal::not_now, {}},
      {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", Refusal::not_now, {}},
      {"-ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when used\r\n",
       Refusal::not_now,
       {}},
      {"-MISCONF Redis is configured to save RDB snapshots\r\n", Refusal::not_now, {}},
      {"-NOREPLICAS Not enough good replicas to write.\r\n", Refusal::not_now, {}},
  };
  for (const Case& c : cases) {
    RespReader reader;
    reader.feed(c.reply);
    const Result<RespReply> reply = reader.next();
    ASSERT_TRUE(reply && *reply) << c.reply;
    const Redirect redirect = redirect_of(**reply);
    EXPECT_EQ(redirect.kind, c.kind) << c.reply;
    EXPECT_EQ(redirect.to, c.to) << c.reply;
  }
}

}  // namespace
}  // namespace onceward::redis
