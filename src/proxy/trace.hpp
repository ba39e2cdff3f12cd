// W3C trace context: passed on when the client sent a valid one, begun anew otherwise. Pure.
#pragma once

#include <array>
#include <string_view>

#include "http/head.hpp"
#include "onceward/executor.hpp"

namespace onceward {

// The line that begins a trace of our own.
struct TraceLine {
  std::array<char, 70> text;
  std::string_view view() const { return {text.data(), text.size()}; }
};
TraceLine begin_trace(Random& random);

// Exactly one traceparent line, and it is valid.
bool has_trace(const http::HeaderList& headers);

}  // namespace onceward
