#include "proxy/trace.hpp"

#include <gtest/gtest.h>

namespace onceward {
namespace {

TEST(Trace, is_passed_on_only_when_it_is_valid) {
  struct Case {
    const char* value;
    bool valid;
  };
  const Case cases[] = {
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", true},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later", true},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later", false},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x", false},
      {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false},
      {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false},
      {"00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", false},
      {"garbage", false},
      {"", false},
  };
  for (const Case& c : cases) {
    http::HeaderList headers;
    headers.add("traceparent", c.value);
    EXPECT_EQ(has_trace(headers), c.valid) << c.value;
    headers.add("Traceparent", c.value);
    EXPECT_FALSE(has_trace(headers)) << "two of them say nothing";
  }
}

}  // namespace
}  // namespace onceward
