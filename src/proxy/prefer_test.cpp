#include "proxy/prefer.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(PreferredWait, reads_the_first_well_formed_wait) {
  struct Case {
    const char* value;
    std::optional<Duration> wait;
  };
  const Case cases[] = {
      {"wait=10", 10s},
      {"Wait=10", 10s},
      {"respond-async, wait=5", 5s},
      {"wait = 7 ; x=y", 7s},
      {"wait=\"3\"", 3s},
      {"wait=0", 0s},
      {"wait", std::nullopt},
      {"wait=", std::nullopt},
      {"wait=-1", std::nullopt},
      {"wait=1.5", std::nullopt},
      {"wait=99999999999999", std::nullopt},
      {"waiting=10", std::nullopt},
      {"handling=lenient", std::nullopt},
      {"", std::nullopt},
      {"wait=x, wait=4", 4s},
  };
  for (const Case& c : cases) {
    http::HeaderList headers;
    headers.add("Prefer", c.value);
    EXPECT_EQ(preferred_wait(headers), c.wait) << c.value;
  }
}

TEST(PreferredWait, looks_at_every_prefer_line_and_no_other) {
  http::HeaderList headers;
  headers.add("X-Prefer", "wait=1");
  headers.add("Prefer", "respond-async");
  headers.add("prefer", "wait=2");
  EXPECT_EQ(preferred_wait(headers), 2s);
}

TEST(PrefersAsync, when_one_of_the_preferences_says_so) {
  struct Case {
    const char* value;
    bool async;
  };
  const Case cases[] = {
      {"respond-async", true},
      {"Respond-Async", true},
      {"wait=5, respond-async", true},
      {"respond-async; x=1", true},
      {"respond-async-later", false},
      {"wait=5", false},
      {"", false},
  };
  for (const Case& c : cases) {
    http::HeaderList headers;
    headers.add("X-Prefer", "respond-async");
    headers.add("Prefer", c.value);
    EXPECT_EQ(prefers_async(headers), c.async) << c.value;
  }
}

}  // namespace
}  // namespace onceward
