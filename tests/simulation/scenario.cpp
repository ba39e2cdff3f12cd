#include "simulation/scenario.hpp"

#include "base/sha256.hpp"
#include "core/scope.hpp"

namespace onceward::simulation {
namespace {

constexpr Nanoseconds horizon = std::chrono::seconds(12);

template <class T>
bool is(const Outcome& outcome) {
  return std::holds_alternative<T>(outcome);
}

std::string describe(const Outcome& outcome) {
  constexpr const char* names[] = {"executed",      "unguarded",   "replayed",   "rejected",
                                   "still running", "unreachable", "over quota", "store failed"};
  static_assert(std::size(names) == std::variant_size_v<Outcome>);
  std::string text = names[outcome.index()];
  if (const auto* executed = std::get_if<Executed>(&outcome)) {
    if (!executed->stored) text += ", not stored";
    if (const auto* answer = std::get_if<Answer>(&executed->effect))
      text += " " + std::to_string(answer->response->status);
  }
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    text += " " + std::to_string(static_cast<int>(rejected->why));
  return text;
}

}  // namespace

// A caller that is still there. The judge hears what it hears; then it may try again.
class Scenario::Session final : public Engine::Caller {
 public:
  Session(Scenario& scenario, std::shared_ptr<Life> life, std::shared_ptr<Call> call, Intent intent,
          bool last)
      : scenario_(scenario),
        life_(std::move(life)),
        call_(std::move(call)),
        intent_(std::move(intent)),
        last_(last) {}

  void told(Outcome outcome) override {
    if (life_->is_dead()) return;
    World& world = scenario_.world_;
    if (world.traced) world.say("call " + std::to_string(call_->number) + " told " + describe(outcome));
    scenario_.judge_.told(*call_, outcome);
    if (last_) return check_last(outcome);
    scenario_.heard(intent_, outcome);
  }
  bool is_owed() const { return !life_->is_dead() && !call_->told; }

 private:
  // Nothing fails any more, so nothing may be left undecided.
  void check_last(const Outcome& outcome) {
    const auto* rejected = std::get_if<Rejected>(&outcome);
    const bool settled = is<Executed>(outcome) || is<Replayed>(outcome) || rejected;
    if (!settled) scenario_.world_.violate("liveness: service is not back: " + describe(outcome));
    const auto* executed = std::get_if<Executed>(&outcome);
    if (executed && !executed->stored) scenario_.world_.violate("liveness: outcomes are not stored again");
  }

  Scenario& scenario_;
  const std::shared_ptr<Life> life_;
  const std::shared_ptr<Call> call_;
  const Intent intent_;
  const bool last_;
};

Scenario::Scenario(std::uint64_t seed, Mutant mutant, bool traced)
    : world_(seed, mutant, traced),
      store_clock_(world_.time),
      judge_(world_, store_clock_),
      authority_(world_, judge_, store_clock_),
      upstream_(world_, judge_) {
  Chance& chance = world_.chance;
  Policy policy;
  policy.lease = Duration(world_.faults.gentle ? 3000 : chance.between(300, 3000));
  policy.max_hold = policy.lease * chance.between(1, 4);
  policy.ttl = Duration(chance.between(1000, 20'000));
  policy.receipt_ttl = Duration(chance.in_1000(300) ? chance.between(500, 5000) : 0);
  timeout_ = Duration(world_.faults.gentle ? 5000 : chance.between(50, 4000));
  hold_ = std::make_shared<const Policy>(policy);
  policy.on_unknown = OnUnknown::forward;
  forward_ = std::make_shared<const Policy>(policy);
  // Not by chance: the other worlds stay what they were.
  if (seed % 17 == 3) keep_ = Duration(500 + seed * 7919 % 19'500);
  const std::uint64_t processes = 1 + chance.below(3);
  for (std::uint64_t i = 0; i < processes; ++i)
    processes_.push_back(std::make_unique<Process>(world_, authority_));
  authority_.left_progress = [this](const Scope& scope) {
    for (const auto& process : processes_) process->life()->port.left_progress(scope);
  };
}

Scenario::~Scenario() {
  for (const auto& process : processes_) process->life()->die();
}

std::string Scenario::run() {
  chores_end_ = world_.now() + horizon;
  begin_traffic();
  chores();
  world_.run(chores_end_);

  const bool gentle = world_.faults.gentle;
  world_.faults = {};
  world_.faults.gentle = gentle;
  healed_ = true;
  authority_.heal();
  world_.run(Nanoseconds::max());
  check_at_rest();
  last_round();
  for (const Record& record : authority_.list(State::unknown)) {
    if (gentle) judge_.check_gentle(record);
    resolve(record);
  }
  last_round();
  return world_.broken;
}

Scenario::Intent Scenario::draw_intent() {
  Chance& chance = world_.chance;
  Intent intent;
  intent.who.tenant = "tenant" + std::to_string(chance.below(2));
  intent.who.caller = "caller" + std::to_string(chance.below(2));
  intent.who.key = "key" + std::to_string(chance.below(3));
  intent.who.forward = intent.who.key == "key2";  // one key's operation forwards
  intent.who.states_a_fact = states_a_fact(intent.who);
  intent.who.body = chance.in_1000(150) ? "other" : "body";
  intent.attempts = static_cast<int>(chance.between(1, 4));
  return intent;
}

void Scenario::begin_traffic() {
  Chance& chance = world_.chance;
  const std::int64_t requests = chance.between(8, 24);
  for (std::int64_t i = 0; i < requests; ++i) {
    const Intent intent = draw_intent();
    const Nanoseconds at = chance.ms(0, 9000);
    const std::int64_t at_once = chance.in_1000(300) ? chance.between(2, 4) : 1;
    for (std::int64_t copy = 0; copy < at_once; ++copy)
      world_.after(at + chance.us(0, 2000), [this, intent] { ask(intent, false); });
  }
}

Command Scenario::command_for(const Identity& who) {
  Command command;
  const std::string tenant = world_.is(Mutant::scope_without_tenant) ? "" : who.tenant;
  const std::string caller = world_.is(Mutant::scope_without_caller) ? "" : who.caller;
  command.scope = scope_of(tenant, caller, who.forward ? "forwards" : "holds", who.key, "");
  command.fingerprint = {1, Digest{sha256(who.body)}};
  RequestInfo info{who.tenant, "op", "", {}};
  if (who.states_a_fact)
    info.marks = {{MarkKind::unique, scope_of(tenant, "", "fact", "", ""), *keep_, true}};
  command.request = std::make_shared<const RequestInfo>(std::move(info));
  command.policy = who.forward ? forward_ : hold_;
  const bool waits = healed_ || world_.happens(700);
  command.wait = Duration(healed_ ? 60'000 : waits ? world_.chance.between(1, 3000) : 0);
  return command;
}

void Scenario::ask(Intent intent, bool last) {
  const std::shared_ptr<Life> life = processes_[world_.chance.below(processes_.size())]->life();
  Command command = command_for(intent.who);
  auto call = std::make_shared<Call>();
  call->number = ++calls_;
  call->who = intent.who;
  call->scope = command.scope;
  call->fingerprint = command.fingerprint;
  if (world_.traced) world_.say("call " + std::to_string(call->number) + " " + intent.who.text());
  auto session = std::make_shared<Session>(*this, life, call, intent, last);
  auto work = std::make_shared<Courier>(judge_, upstream_, life, call, timeout_);
  // The process takes it up when it next runs: a paused one does not.
  struct Kick : Completion {
    std::function<void()> what;
  };
  auto* kick = new Kick;
  kick->what = [life = life.get(), command, work, weak = std::weak_ptr<Engine::Caller>(session)] {
    if (!life->is_dead()) life->engine.start(life->executor, command, work, weak);
  };
  kick->run = [](Completion* self) {
    const std::unique_ptr<Kick> owned(static_cast<Kick*>(self));
    owned->what();
  };
  life->executor.post(kick);
  if (!last && world_.happens(world_.faults.leaves)) {
    world_.after(world_.chance.ms(0, 1000), [keep = std::move(session)] {});  // and then it is gone (I11)
  } else {
    sessions_.push_back(std::move(session));
  }
}

void Scenario::heard(const Intent& intent, const Outcome& outcome) {
  if (healed_ || intent.attempts <= 1) return;
  const auto* executed = std::get_if<Executed>(&outcome);
  const Answer* answer = executed ? std::get_if<Answer>(&executed->effect) : nullptr;
  const bool answered = is<Replayed>(outcome) || (answer && answer->response->status < 500);
  if (answered && !world_.happens(300)) return;
  Intent again = intent;
  --again.attempts;
  world_.after(world_.chance.ms(1, 2000), [this, again] { ask(again, false); });
}

void Scenario::last_round() {
  for (const char* tenant : {"tenant0", "tenant1"}) {
    for (const char* key : {"key0", "key1", "key2"}) {
      Intent intent;
      intent.who = {tenant, "caller0", key, "body", std::string_view(key) == "key2"};
      intent.who.states_a_fact = states_a_fact(intent.who);
      ask(intent, true);
    }
  }
  world_.run(Nanoseconds::max());
  check_at_rest();
}

void Scenario::check_at_rest() {
  if (!world_.broken.empty()) return;
  for (const auto& process : processes_) process->check_at_rest();
  for (const auto& session : sessions_)
    if (session->is_owed()) world_.violate("liveness: a caller was never told");
  sessions_.clear();
}

}  // namespace onceward::simulation
