#include "onceward/engine.hpp"

#include <exception>

#include "library/command.hpp"
#include "library/finish.hpp"
#include "library/meeting.hpp"
#include "library/wording.hpp"
#include "onceward/claim.hpp"

namespace onceward::api {

Result<Engine> Engine::open(const EngineOptions& options) {
  Result<std::shared_ptr<Host>> host = Host::open(options);
  if (!host) return host.error();
  return Engine(std::move(*host));
}

Result<Engine> Engine::open(const EngineOptions& options, std::unique_ptr<Store> store) {
  Result<std::shared_ptr<Host>> host = Host::open(options, std::move(store));
  if (!host) return host.error();
  return Engine(std::move(*host));
}

Engine::Engine(std::shared_ptr<Host> host) : host_(std::move(host)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

namespace {

void note_lost_events(Outcome& outcome, const Effect& given, bool store_keeps_events) {
  const std::string why = events_refusal(given, store_keeps_events);
  if (why.empty()) return;
  outcome.told = false;
  outcome.message = why;
}

}  // namespace

void Engine::run(Command command, AsyncWork work, Told told) {
  if (std::optional<Outcome> refused = refusal(command)) {
    return host_->post([told = std::move(told), outcome = std::move(*refused)] { told(outcome); });
  }
  onceward::Command order = host_->command_for(subject_of(*host_, std::move(command)));
  auto given = std::make_shared<Effect>();  // shared by the work's end and the outcome's wording
  const Keeping keeping = host_->keeping();
  auto pending = std::make_shared<PendingWork>(
      host_->executor(),
      [work = std::move(work), given, keeping](const Grant& grant, std::shared_ptr<Delivery> delivery) {
        const bool guarded = grant.epoch != 0;
        work({guarded ? to_string(grant.operation_id) : std::string(), grant.epoch},
             Finish(std::make_shared<Finish::State>(std::move(delivery), keeping, given)));
      });
  host_->start(order, std::move(pending),
               [told = std::move(told), given, request = order.request, keeping](onceward::Outcome outcome) {
                 Outcome said = worded(std::move(outcome), *given, request->leaves);
                 if (said.ran) note_lost_events(said, *given, keeping.events);
                 told(std::move(said));
               });
}

Outcome Engine::run(const Command& command, const Work& work) {
  if (host_->on_own_thread()) return invalid_command("run() would block the engine's own thread");
  using Handed = std::pair<Ticket, Finish>;
  auto meeting = std::make_shared<Meeting<Handed, Outcome>>();
  run(
      command,
      [meeting](const Ticket& ticket, Finish finish) { meeting->hand_over({ticket, std::move(finish)}); },
      [meeting](Outcome outcome) { meeting->tell(std::move(outcome)); });
  std::exception_ptr thrown;
  if (std::optional<Handed> handed = meeting->work()) {
    try {
      handed->second(work(handed->first));
    } catch (...) {
      thrown = std::current_exception();
      handed->second(Effect::unknown("the work threw"));
    }
  }
  Outcome outcome = meeting->outcome();
  if (thrown) std::rethrow_exception(thrown);
  return outcome;
}

}  // namespace onceward::api
