#include "http/body_decoder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onceward::http {
namespace {

struct Decoded {
  std::string body;
  std::string rest;
  BodyDecoder::Step::Status status = BodyDecoder::Step::Status::need_more;
};

// Feeds the input in portions of `portion` bytes, as a socket would.
Decoded decode(Body body, std::string_view input, std::size_t portion) {
  using Status = BodyDecoder::Step::Status;
  BodyDecoder decoder;
  decoder.reset(body);
  Decoded out;
  std::string pending;
  while (true) {
    const BodyDecoder::Step step = decoder.next(pending);
    out.status = step.status;
    out.body.append(step.data);
    pending.erase(0, step.consumed);
    if (step.status == Status::piece) continue;
    if (step.status != Status::need_more || input.empty()) break;
    pending.append(input.substr(0, portion));
    input.remove_prefix(std::min(portion, input.size()));
  }
  out.rest = pending + std::string(input);
  return out;
}

struct Case {
  const char* what;
  Body body;
  std::string input;
  BodyDecoder::Step::Status status;
  std::string decoded;
  std::string rest;
};

TEST(BodyDecoder, TakesBodiesOutOfTheStreamHoweverTheyArrive) {
  using enum BodyDecoder::Step::Status;
  const std::vector<Case> cases = {
      {"no body", Body::none(), "GET", end, "", "GET"},
      {"a length", Body::length(3), "abcGET", end, "abc", "GET"},
      {"a short length", Body::length(5), "abc", need_more, "abc", ""},
      {"until close", Body::until_close(), "abc", need_more, "abc", ""},
      {"one chunk", Body::chunked(), "3\r\nabc\r\n0\r\n\r\nGET", end, "abc", "GET"},
      {"two chunks", Body::chunked(), "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", end, "abcde", ""},
      {"capital and leading zeros", Body::chunked(), "00A\r\n0123456789\r\n0\r\n\r\n", end, "0123456789", ""},
      {"an extension", Body::chunked(), "3;a=\"b\"\r\nabc\r\n0;z\r\n\r\n", end, "abc", ""},
      {"trailers", Body::chunked(), "3\r\nabc\r\n0\r\nX: y\r\nZ:\r\n\r\nGET", end, "abc", "GET"},
      {"no last chunk", Body::chunked(), "3\r\nabc\r\n", need_more, "abc", ""},
      {"no end of trailers", Body::chunked(), "3\r\nabc\r\n0\r\n", need_more, "abc", ""},
      {"no size", Body::chunked(), "\r\nabc\r\n", bad, "", "\r\nabc\r\n"},
      {"a bad size", Body::chunked(), "g\r\n", bad, "", ""},
      {"a signed size", Body::chunked(), "+3\r\nabc\r\n", bad, "", ""},
      {"a prefixed size", Body::chunked(), "0x3\r\nabc\r\n", bad, "", ""},
      {"a space before the size", Body::chunked(), " 3\r\nabc\r\n", bad, "", ""},
      {"a space after the size", Body::chunked(), "3 \r\nabc\r\n", bad, "", ""},
      {"a huge size", Body::chunked(), "ffffffffffffffff\r\nabc\r\n", bad, "", ""},
      {"a bare LF after the size", Body::chunked(), "3\nabc\r\n", bad, "", ""},
      {"a CR in an extension", Body::chunked(), "3;a\rb\r\nabc\r\n", bad, "", ""},
      {"a NUL in an extension", Body::chunked(), std::string("3;\0\r\nabc\r\n", 10), bad, "", ""},
      {"data longer than its chunk", Body::chunked(), "3\r\nabcd\r\n", bad, "abc", ""},
      {"a bare LF after the data", Body::chunked(), "3\r\nabc\n0\r\n\r\n", bad, "abc", ""},
      {"a trailer without a colon", Body::chunked(), "0\r\nX\r\n\r\n", bad, "", ""},
      {"a folded trailer", Body::chunked(), "0\r\nX: a\r\n b\r\n\r\n", bad, "", ""},
      {"an endless extension", Body::chunked(), "3;" + std::string(2000, 'a'), bad, "", ""},
  };
  for (const Case& c : cases) {
    for (const std::size_t portion : {std::size_t{1}, std::size_t{2}, std::size_t{7}, c.input.size()}) {
      const Decoded out = decode(c.body, c.input, portion);
      EXPECT_EQ(out.status, c.status) << c.what << " by " << portion;
      EXPECT_EQ(out.body, c.decoded) << c.what << " by " << portion;
      if (c.status == end) {
        EXPECT_EQ(out.rest, c.rest) << c.what << " by " << portion;
      }
    }
  }
}

TEST(BodyDecoder, BoundsWhatIsDroppedAltogether) {
  std::string many;
  for (int i = 0; i < 40; ++i) many += "1;" + std::string(900, 'a') + "\r\nx\r\n";
  EXPECT_EQ(decode(Body::chunked(), many, many.size()).status, BodyDecoder::Step::Status::bad);
}

TEST(BodyDecoder, OnlyABodyWithoutAnEndMayEndWithTheConnection) {
  BodyDecoder decoder;
  decoder.reset(Body::until_close());
  EXPECT_TRUE(decoder.end_of_stream());
  decoder.reset(Body::length(1));
  EXPECT_FALSE(decoder.end_of_stream());
  decoder.reset(Body::chunked());
  EXPECT_FALSE(decoder.end_of_stream());
}

}  // namespace
}  // namespace onceward::http
