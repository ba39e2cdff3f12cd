// The checks of `onceward verify`: what a server that claims to support Idempotency-Key must and should do,
// seen from outside only. They send real requests, so what the server does for them is really done.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/raw_sender.hpp"
#include "onceward/client.hpp"

namespace onceward::cli {

enum class Level : std::uint8_t { must, should, note };
enum class Finding : std::uint8_t {
  passed,
  failed,
  unclear,  // the server's answers do not show it
};

struct CheckResult {
  std::string name;
  Level level = Level::must;
  Finding finding = Finding::unclear;
  std::string detail;
};

std::string_view to_string(Level level);
std::string_view to_string(Finding finding);

struct VerifyPlan {
  client::Request request;
  std::string other_body;  // a different request of the same kind
  std::size_t parallel = 8;
  Duration patience = std::chrono::seconds(15);  // with answers that say "still running"
};

// Tells each result as soon as it is known. Without a first answer below 400 nothing else is checked.
void run_checks(RawSender& sender, const VerifyPlan& plan,
                const std::function<void(const CheckResult&)>& tell);

// Of these results: nothing that must be was missing or could not be seen.
bool conforms(const std::vector<CheckResult>& results);

// A body that differs from this one and is likely to be accepted as well.
std::string changed_body(const std::string& body, std::string_view content_type);

}  // namespace onceward::cli
