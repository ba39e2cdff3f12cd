// Load: many requests at once, a chosen share of them duplicates, and what became of them. `drive_load` runs
// on the worker of its upstream; the report is pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.hpp"
#include "client/wire_request.hpp"
#include "http/upstream.hpp"

namespace onceward::cli {

struct LoadPlan {
  client::Request request;  // "{n}" in its body is the number of the intent
  std::size_t requests = 10'000;
  std::size_t connections = 16;
  double duplicates = 0.2;          // the share of requests that repeat an earlier one
  Duration time = Duration::max();  // ends then, whatever is left
  std::uint64_t seed = 1;
};

enum class Seen : std::uint8_t { first, replay, in_progress, mismatch, unknown, refused, unavailable, lost };
inline constexpr std::size_t seen_kinds = static_cast<std::size_t>(Seen::lost) + 1;
std::string_view to_string(Seen seen);

// What an answer is, by its status, its code and its marker.
Seen seen_of(const client::Answer& answer);

struct LoadReport {
  std::array<std::vector<std::uint32_t>, seen_kinds> micros;  // of each request, by what became of it
  std::size_t duplicates = 0;                                 // requests that repeated an earlier one
  std::size_t contradictions = 0;  // answers below 400 whose body is not the one first seen under that key
  Duration took{};

  std::size_t total() const;
};

Task<LoadReport> drive_load(http::Upstream& upstream, LoadPlan plan, Executor& executor);

// The p-th percentile (0 to 100) of sorted values; 0 without any.
std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double p);

std::string load_text(LoadReport report);
std::string load_json(LoadReport report);

}  // namespace onceward::cli
