// Judge: knows everything that truly happened, which no engine does, and says which of the rules I1–I11
// was broken. It believes only what was made durable, what reached the upstream and what callers heard.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/engine.hpp"
#include "simulation/world.hpp"

namespace onceward::simulation {

// Whose request it is; its text travels in every body, so that a stray byte shows where it came from.
struct Identity {
  std::string tenant;
  std::string caller;
  std::string key;
  std::string body;
  bool forward = false;
  bool states_a_fact = false;  // one per tenant, under whatever key
  std::string text() const { return tenant + "|" + caller + "|" + key + "|" + body + "|"; }
};

// One call of an engine, as its caller sees it.
struct Call {
  std::uint64_t number = 0;
  Identity who;
  Scope scope;
  Fingerprint fingerprint;
  int sends = 0;  // how often its work let bytes out
  bool told = false;
  bool nothing_sent = false;  // it was told that nothing was, or will be, sent for it
};

class Judge {
 public:
  Judge(World& world, const Clock& store_clock) : world_(world), clock_(store_clock) {}

  // What the store made durable.
  void stored(const Record& after, bool forward);
  void removed(const Record& before, bool by_operator);
  void rejected_claim(const Record* before, const Record* after, bool by_mark);
  // What left an engine, reached the upstream, and was answered.
  void sends(Call& call, const Grant& grant);
  void took_effect(const Identity& who, const OperationId& operation, Epoch epoch,
                   const std::shared_ptr<const Response>& response);
  void answered(const OperationId& operation, const std::shared_ptr<const Response>& response);
  // What a caller heard.
  void told(Call& call, const Outcome& outcome);

  // What an operator can find out by looking into the upstream's books.
  std::shared_ptr<const Response> effect_of(const OperationId& operation) const;
  void check_gentle(const Record& at_the_end);

 private:
  using Responses = std::vector<std::shared_ptr<const Response>>;
  struct Truth {
    Scope scope;
    Record last;  // as last made durable
    OwnerNonce first_owner;
    bool forward = false;
    bool purged = false;
    bool states_a_fact = false;
    std::optional<Timestamp> fact_until;  // since its success, whatever became of its record
    int effects = 0;                      // of this life
    std::set<Epoch> granted;
    std::shared_ptr<const Response> effect;
    Responses outcomes;  // one; more only when a late claim brought the operation back to life
    Responses answers;
    Responses booked;  // the effects of all lives
  };

  void begins(const Record& after, bool forward);
  void goes_on(Truth& truth, const Record& after);
  bool is_over(const Truth& truth) const;
  bool holds_its_fact(const Truth& truth) const;
  void check_fact(const OperationId& operation, const Truth& truth);
  bool is_late_claim(const Truth& truth, const Record& after) const;
  void told_executed(Call& call, const Executed& executed);
  void told_replayed(const Call& call, const Replayed& replayed);
  void told_rejected(Call& call, const Rejected& rejected);
  static bool contains(const Responses& responses, const Response& wanted);
  void is_for(const Call& call, const Response& response);
  void check(bool holds, const char* rule);

  World& world_;
  const Clock& clock_;
  std::map<OperationId, Truth> truths_;
  std::map<Scope, std::vector<OperationId>> lives_;
  std::map<Scope, std::vector<OperationId>> facts_;  // by the mark: who stated them
};

}  // namespace onceward::simulation
