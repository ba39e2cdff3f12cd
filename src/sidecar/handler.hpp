// Handler: has messages handled by their service, each once: claims, sends, tries again with pauses, and says
// in the end what becomes of the message. One per consumer; on its worker's thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/fingerprint.hpp"
#include "core/message_attempts.hpp"
#include "engine/engine.hpp"
#include "http/upstream.hpp"
#include "messaging/brokers/message_source.hpp"
#include "ops/log.hpp"
#include "ops/metrics.hpp"
#include "sidecar/message_head.hpp"
#include "sidecar/verdict.hpp"

namespace onceward::sidecar {

struct HandlerRules {
  MessageHead::Target target;  // and the consumer's name
  std::string id;              // a rule of message_id()
  std::uint64_t attempts = 5;
  Duration pause{1000};  // after the first attempt that failed
  std::shared_ptr<const Policy> policy;
  CompiledFingerprintPolicy fingerprint;
  std::size_t max_response = 0;
  std::string secret;
  bool hash_keys = true;
  std::size_t metrics_index = 0;
};

// What all handlers share.
struct SidecarContext {
  Engine& engine;
  net::Worker& worker;
  const Clock& clock;
  Random& random;
  Log& log;
  Metrics::Shard& metrics;
  EngineObserver* observer;
};

struct Handled {
  Verdict verdict = TryAgain{};  // TryAgain: we were told to stop before it came to an end
  std::uint64_t attempts = 0;
  std::string operation_id;
  std::string key_hash;
};

// Of a dead letter: how often the message had been tried when it was put there. Somebody who puts it back,
// headers and all, gives it as many attempts again.
inline constexpr std::string_view attempts_header = "x-onceward-attempts";

class Handler {
 public:
  Handler(const SidecarContext& context, HandlerRules rules, std::shared_ptr<http::Upstream> service);

  // `stopping` may be set by any thread: what waits for its next attempt is then left to others.
  Task<Handled> handle(const messaging::Message& message, const std::atomic<bool>& stopping);

 private:
  Command command_for(const messaging::Message& message, const std::string& id) const;
  Task<Verdict> attempt(const messaging::Message& message, const std::string& id, AttemptLimit limit,
                        Handled& handled);
  Task<> pause(Duration time, const std::atomic<bool>& stopping);
  void count(const Outcome& outcome, bool granted);

  const SidecarContext context_;
  const HandlerRules rules_;
  const std::shared_ptr<http::Upstream> service_;  // shared with work that outlives an attempt
};

}  // namespace onceward::sidecar
