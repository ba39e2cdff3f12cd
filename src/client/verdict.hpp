// What an answer means for the key it was sent with: pure. The same table of cases holds for the browser
// module (tests/vectors/client/answers.json).
#pragma once

#include <cstdint>
#include <string_view>

namespace onceward::client {

enum class Action : std::uint8_t {
  done,   // below 400
  retry,  // the same request with the same key, after a pause
  wait,   // the first attempt is still running: ask again later, with the same key
  stop,   // another attempt would get the same or harm
};

// Whether something may have happened under the key.
enum class Doubt : std::uint8_t {
  settled,  // this answer is what became of it, whatever was in doubt before
  kept,     // nothing happened by this attempt; it says nothing about those before
  raised,   // it may have happened
};

struct Verdict {
  Action action = Action::retry;
  Doubt doubt = Doubt::raised;
  bool operator==(const Verdict&) const = default;
};

// What of an answer counts.
struct Signs {
  int status = 0;
  std::string_view code = {};  // of an application/problem+json body; "" without
  int original_status = 0;     // of IDEMPOTENCY_RESPONSE_NOT_STORED
  bool has_retry_after = false;
  std::string_view location = {};
};

Verdict classify(const Signs& signs);

// No answer. `may_have_left`: a byte of the request may have reached the server.
constexpr Verdict no_answer(bool may_have_left) {
  return {Action::retry, may_have_left ? Doubt::raised : Doubt::kept};
}

}  // namespace onceward::client
