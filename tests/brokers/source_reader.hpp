// What the tests of every source do: take messages for a while.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "messaging/brokers/message_source.hpp"

namespace onceward::messaging {

inline std::unique_ptr<MessageSource> connected_source(const SourceOptions& options) {
  Result<std::unique_ptr<MessageSource>> source = make_source(options);
  EXPECT_TRUE(source) << source.error().message;
  const Result<Done> connected = (*source)->connect();
  EXPECT_TRUE(connected) << connected.error().message;
  return std::move(*source);
}

// Until there are `count`, or the time is over.
inline std::vector<Message> take(MessageSource& source, std::size_t count,
                                 Duration limit = Duration(30'000)) {
  const WakeUp wake;
  std::vector<Message> all;
  const MonoTime end = std::chrono::steady_clock::now() + limit;
  while (all.size() < count && std::chrono::steady_clock::now() < end) {
    Result<std::vector<Message>> some = source.receive(count - all.size(), wake, end);
    EXPECT_TRUE(some) << some.error().message;
    if (!some) break;
    for (Message& message : *some) all.push_back(std::move(message));
  }
  return all;
}

// Nothing comes for a moment.
inline bool is_silent(MessageSource& source) { return take(source, 1, Duration(200)).empty(); }

}  // namespace onceward::messaging
