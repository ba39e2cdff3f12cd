// Inbox: has each message handled once, however often its broker delivers it. A message is known by its id,
// per consumer: two consumers each handle it. Attempts are counted in the store, so that a crash forgets
// none; what cannot be handled goes to where dead letters go, and only then may the broker forget it.
//
//   onceward::Inbox inbox(engine, {.consumer = "billing", .attempts = 5});
//   onceward::Consumed consumed = inbox.consume({.id = delivery.id, .payload = delivery.body},
//                                               [&](const onceward::Message& message, const
//                                               onceward::Ticket&) {
//                                                 charge(message.payload);
//                                                 return onceward::Handling::done();
//                                               });
//   if (consumed.acknowledge()) delivery.ack(); else delivery.give_back_after(consumed.pause);
//
// The rules (ttl, lease, on_unknown) are those of the engine's operation with the consumer's name. Any
// thread; the engine must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "onceward/engine.hpp"

namespace onceward {

namespace api {

struct Message {
  std::string id;
  std::string payload = {};
  std::string content_type = {};           // application/json: the same id is compared by meaning
  std::optional<std::string> tenant = {};  // absent is not the same as empty
  // Of a dead letter that somebody put back: Consumed::attempts of then. It gets as many attempts again.
  std::uint64_t attempts_before = 0;
};

// How a handler ended.
struct Handling {
  enum class Kind {
    done,      // it is handled
    failed,    // nothing that lasts came of it: try again
    rejected,  // it never can be handled: a dead letter
    unknown,   // it may have been handled: what follows is the policy's on_unknown
  };
  Kind kind = Kind::unknown;
  std::string text = {};  // of done what to keep, else why

  static Handling done(std::string value = {}) { return {Kind::done, std::move(value)}; }
  static Handling failed(std::string why) { return {Kind::failed, std::move(why)}; }
  static Handling rejected(std::string why) { return {Kind::rejected, std::move(why)}; }
  static Handling unknown(std::string why) { return {Kind::unknown, std::move(why)}; }
};

// What became of a delivery.
struct Consumed {
  enum class Kind {
    handled,      // by this call
    duplicate,    // by an earlier one; the handler was not called
    retry,        // not yet: let the broker deliver it again, after `pause`
    dead_letter,  // never: put aside
  };
  enum class Reason {
    none,
    failed,       // retry: the handler said so
    in_progress,  // retry: another delivery is being handled
    store,        // retry: the store cannot answer, or could not keep the outcome
    rejected,     // dead letter: by the handler
    attempts,     // dead letter: tried often enough
    unknown,      // dead letter: nobody can tell whether it was handled (on_unknown: hold)
    mismatch,     // dead letter: the same id came with another payload
    duplicate,    // dead letter: another operation stands for the same fact (unique, suspect)
    invalid,      // dead letter: it has no id
  };
  Kind kind = Kind::retry;
  Reason reason = Reason::none;
  std::string error = {};         // for people
  std::uint64_t attempts = 0;     // so far; 0 when this delivery was none
  Duration pause{};               // of retry
  std::string value = {};         // what the handler that did it kept
  std::string operation_id = {};  // empty: no record was seen
  bool put_aside = false;         // dead letter: InboxOptions::dead_letter has it

  // Whether the broker may forget this delivery.
  bool acknowledge() const {
    return kind == Kind::handled || kind == Kind::duplicate || (kind == Kind::dead_letter && put_aside);
  }
};

ONCEWARD_API std::string_view to_string(Consumed::Reason reason);

struct InboxOptions {
  std::string consumer;
  std::uint64_t attempts = 5;
  Duration pause = std::chrono::seconds(1);  // after the first attempt that failed; doubles, up to a minute
  // Puts a dead letter where people find it, and returns true once it is safe there. Absent: whoever calls
  // consume() does it and sees to the acknowledgement.
  std::function<bool(const Message&, const Consumed&)> dead_letter = {};
};

class ONCEWARD_API Inbox {
 public:
  Inbox(Engine& engine, InboxOptions options);

  // The ticket is what the handler may tell others: an operation id that stays the same through all attempts,
  // and an epoch that grows with each.
  using Handler = std::function<Handling(const Message&, const Ticket&)>;
  // Blocks; the handler runs on this thread, if it runs. What it throws leaves the outcome unknown, durably,
  // and is thrown on.
  Consumed consume(const Message& message, const Handler& handler);

 private:
  Consumed judge(const Outcome& outcome) const;

  Engine& engine_;
  InboxOptions options_;
};

}  // namespace api

}  // namespace onceward
