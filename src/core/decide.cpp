#include "core/decide.hpp"

namespace onceward {

Decision decide(const ClaimReply& reply, const Fingerprint& fingerprint) {
  if (reply.granted) return Execute{};
  return decide_duplicate(reply.record, fingerprint);
}

Decision decide_duplicate(const Record& settled, const Fingerprint& fingerprint) {
  // A different request is told so whatever the state, also while the first is still running.
  if (settled.fingerprint.bound()) {
    if (settled.fingerprint.version != fingerprint.version) return CompareAgain{settled.fingerprint.version};
    if (settled.fingerprint.digest != fingerprint.digest) return Reject{Rejection::mismatch};
  }
  switch (settled.state) {
    case State::claimed:
    case State::processing:
    case State::released:
      return Wait{};  // released: someone else is about to take it; ask again
    case State::unknown:
      return Reject{Rejection::unknown};
    case State::expired:
      return Reject{Rejection::expired};
    case State::succeeded:
    case State::failed:
      break;
  }
  if (!settled.response || settled.response->body_omitted) return Reject{Rejection::not_stored};
  return Replay{};
}

}  // namespace onceward
