// Engine: runs a command at most once per key, whatever its protocol: (tenant, caller, operation, key,
// payload) → stored bytes. HTTP is a layer on top (onceward/http.hpp), Asio another (onceward/asio.hpp).
//
//   auto engine = onceward::Engine::open({.store = "file:./orders-data"});
//   onceward::Outcome outcome = engine->run({.operation = "orders.create", .key = key, .payload = body},
//                                           [&](const onceward::Ticket&) {
//                                             return onceward::Effect::succeeded(create_order(body));
//                                           });
//
// The claim is durable before the work begins and the outcome before anyone is told. An Engine owns its
// store and one thread, which renews leases while work blocks elsewhere. Any thread may call it.
//
// The names live in onceward::api; a using directive makes them onceward::Engine and so on.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onceward/export.hpp"
#include "onceward/policy.hpp"
#include "onceward/result.hpp"
#include "onceward/store.hpp"
#include "onceward/values.hpp"

namespace onceward {

namespace api {

// What is asked for. Tenant, caller, operation and key together are the scope; the payload is what the key
// stands for, and another payload under the same key is refused.
struct Command {
  std::string operation;  // also names the policy
  std::string key;
  std::string payload = {};
  std::optional<std::string> tenant = {};  // absent is not the same as empty
  std::optional<std::string> caller = {};
  std::string content_type = {};      // application/json: compared by meaning; empty: byte by byte
  std::optional<Duration> wait = {};  // for one in progress; absent: what the policy says
  std::string reference = {};         // the business reference (an order number): operators find it by it
};

// What a granted command may tell whatever it works with: the same id through all attempts, and a number
// that only grows, by which a stale attempt can be told from a newer one.
struct Ticket {
  std::string operation_id;
  Epoch epoch = 0;  // 0: it runs without a record (observe mode, or an open store failure)
};

// How the work ended.
struct Effect {
  enum class Kind {
    succeeded,  // the value is kept and given to every retry
    failed,     // so is this one: retrying would not change it
    released,   // provably nothing happened: the next attempt executes
    unknown,    // it may have happened: the key is held until someone knows
  };
  Kind kind = Kind::unknown;
  std::string value = {};            // of succeeded and failed the bytes to keep, else why
  std::optional<Duration> ttl = {};  // overrides the policy's
  OperationResult result = {};       // of succeeded and failed: what it came to, in business words
  std::vector<Emission> events = {};

  // Tells an event, written in the same step as the outcome and sent by a relay of this store's outbox. For
  // succeeded and failed. An operation has one event of a type: a later one takes the earlier one's place.
  // The type is made of 1 to 200 visible ASCII characters.
  Effect& emit(std::string type, std::string data, std::string content_type = "application/json") {
    std::erase_if(events, [&type](const Emission& earlier) { return earlier.type == type; });
    events.push_back({std::move(type), std::move(data), std::move(content_type)});
    return *this;
  }

  static Effect succeeded(std::string value) { return {Kind::succeeded, std::move(value)}; }
  static Effect failed(std::string value) { return {Kind::failed, std::move(value)}; }
  static Effect released(std::string why) { return {Kind::released, std::move(why)}; }
  static Effect unknown(std::string why) { return {Kind::unknown, std::move(why)}; }
};

// What the caller is told.
struct Outcome {
  enum class Kind {
    executed,     // this call's work ran and `value` is what it gave
    replayed,     // an earlier call's did; `value` is what was kept of it
    released,     // this call's work ran and had no effect, or could not begin
    in_progress,  // the first is still running: ask again later
    mismatch,     // the key was used with another payload; `changed` names the JSON members
    unknown,      // it may or may not have happened; never run again by itself
    expired,      // it was executed, but its value is no longer kept
    not_stored,   // it was executed, but its value was too large to keep
    duplicate,  // another key stands for the same fact, or the like was just sent; `operation_id` is that one
    store_failed,  // the store cannot answer: nothing was run
    invalid,       // the command cannot be run: an empty key, a wrong thread
  };
  Kind kind = Kind::store_failed;
  bool ran = false;     // this call's work ran
  bool failed = false;  // the value is that of a final failure
  bool stored = true;   // false: executed, but the store failed afterwards; a retry may find it unknown
  std::string value = {};
  std::string operation_id = {};  // empty when there is no record
  Epoch epoch = 0;
  std::vector<std::string> changed = {};
  OperationResult result = {};  // what the work, or the earlier call's, said it came to
  std::string message = {};     // for people, where there is something to say
  bool told = true;  // false: the work emitted an event that could not be kept (`message` says why)

  bool ok() const { return (kind == Kind::executed || kind == Kind::replayed) && !failed; }
};

ONCEWARD_API std::string_view to_string(Outcome::Kind kind);

// Tells the engine how asynchronous work ended; any thread, once. If every copy goes away without a call,
// nobody can know what happened, and the outcome is unknown.
class ONCEWARD_API Finish {
 public:
  class State;
  explicit Finish(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void operator()(Effect effect) const;

 private:
  std::shared_ptr<State> state_;  // shared by the copies of one Finish
};

// One operation's rules. Commands find them by name, HTTP requests by `match` ("POST /orders/{id}").
struct OperationPolicy {
  std::string name;
  std::string match = {};  // empty: not reached by HTTP
  Policy policy = {};
};

struct EngineOptions {
  std::string store = "memory";  // memory | file:DIR | redis://… | postgres://…
  std::string cache = {};        // redis://…, only before postgres: replays and wake-ups, never the authority
  bool synced = true;            // file: false survives a crash of the process, but not of the machine
  Policy defaults = {};          // of operations without an entry
  std::vector<OperationPolicy> operations = {};
  std::size_t max_response = std::size_t{10} << 20;  // larger values are not kept
  std::string key_prefix = {};  // goes before every key: services that share a store stay apart
  std::string secret = {};      // keys the hashes of keys; the same for all that share a store
};

class Claim;
struct ClaimResult;
class Host;

class ONCEWARD_API Engine {
 public:
  // Errc::invalid: the options are wrong. Other errors: the store cannot be opened.
  static Result<Engine> open(const EngineOptions& options);
  // With a store of your own (onceward/store.hpp); options.store is not looked at.
  static Result<Engine> open(const EngineOptions& options, std::unique_ptr<Store> store);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  // Waits for running work, a while; then says in the store that its outcome is unknown.
  ~Engine();

  using Work = std::function<Effect(const Ticket&)>;
  // Blocks. The work runs on this thread, if it runs. What it throws leaves the outcome unknown, durably,
  // and is thrown on. Not to be called from the engine's own thread (inside the callbacks below).
  Outcome run(const Command& command, const Work& work);

  using AsyncWork = std::function<void(const Ticket&, Finish)>;
  using Told = std::function<void(Outcome)>;
  // Returns at once. Both are called on the engine's thread and must neither block nor throw.
  void run(Command command, AsyncWork work, Told told);

  // For lifecycles that do not fit into one call (onceward/claim.hpp). Blocks, and does not wait for
  // another that is in progress.
  ClaimResult claim(const Command& command);

 private:
  friend class HttpGuard;
  friend class Inbox;
  explicit Engine(std::shared_ptr<Host> host);
  std::shared_ptr<Host> host_;  // shared with claims, which may outlive the engine
};

}  // namespace api

// Inside the library these short names already belong to what the facade stands on.
#ifndef ONCEWARD_INTERNAL
using namespace api;
#endif

}  // namespace onceward
