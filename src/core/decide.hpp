// decide: what a request may do, given the reply to its claim. Pure; one visible switch for callers.
#pragma once

#include <variant>

#include "onceward/store.hpp"

namespace onceward {

struct Execute {};     // the claim is ours
struct Replay {};      // the stored outcome is the answer
struct Wait {};        // the first is still running
struct CompareAgain {  // the record was made under another fingerprint version
  std::uint16_t version = 0;
};
enum class Rejection {
  mismatch,
  unknown,
  expired,
  not_stored,
  duplicate_fact,  // another key stands for the same business fact (unique)
  suspected,       // the same caller sent the like of it a moment ago (suspect)
};
struct Reject {
  Rejection why = Rejection::mismatch;
};

using Decision = std::variant<Execute, Replay, Wait, CompareAgain, Reject>;

// `fingerprint` is the asker's, under its own version.
Decision decide(const ClaimReply& reply, const Fingerprint& fingerprint);
Decision decide_duplicate(const Record& settled, const Fingerprint& fingerprint);

}  // namespace onceward
