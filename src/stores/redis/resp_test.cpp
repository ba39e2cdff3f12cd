#include "stores/redis/resp.hpp"

#include <gtest/gtest.h>

namespace onceward::redis {
namespace {

TEST(Resp, a_command_is_an_array_of_its_words) {
  std::string out;
  append_command(out, {"SET", "k", std::string_view("\0\r\n", 3), ""});
  EXPECT_EQ(out, std::string("*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n", 35));
}

TEST(Resp, replies_are_read_whole_however_they_come) {
  const std::string bytes = "*2\r\n$3\r\nabc\r\n:7\r\n+OK\r\n";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RespReader reader;
    reader.feed(std::string_view(bytes).substr(0, cut));
    std::vector<RespReply> replies;
    for (int piece = 0; piece < 2; ++piece) {
      for (;;) {
        Result<RespReply> reply = reader.next();
        ASSERT_TRUE(reply);
        if (!*reply) break;
        replies.push_back(std::move(*reply));
      }
      if (piece == 0) reader.feed(std::string_view(bytes).substr(cut));
    }
    ASSERT_EQ(replies.size(), 2u) << "cut at " << cut;
    EXPECT_EQ(text_of(*elements_of(*replies[0])[0]), "abc");
    EXPECT_EQ(elements_of(*replies[0])[1]->integer, 7);
    EXPECT_EQ(text_of(*replies[1]), "OK");
  }
}

TEST(Resp, what_is_not_the_protocol_is_an_error) {
  for (const char* bytes : {"HTTP/1.1 400 Bad Request\r\n", "*99999999\r\n", "$x\r\n", "*-2\r\n"}) {
    RespReader reader;
    reader.feed(bytes);
    EXPECT_FALSE(reader.next()) << bytes;
  }
}

}  // namespace
}  // namespace onceward::redis
