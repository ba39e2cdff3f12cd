// Host: what an Engine owns: the store, the engine proper, and one thread on which both run, so that leases
// are renewed while the user's work blocks elsewhere. Shared by the Engine and its claims; any thread.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/await.hpp"
#include "base/system.hpp"
#include "engine/engine.hpp"
#include "factory/open_store.hpp"
#include "library/finish.hpp"
#include "library/subject.hpp"
#include "net/worker.hpp"
#include "onceward/engine.hpp"
#include "ops/log.hpp"
#include "ops/purger.hpp"
#include "proxy/rules.hpp"

namespace onceward::api {

class Host {
 public:
  static Result<std::shared_ptr<Host>> open(const EngineOptions& options);
  static Result<std::shared_ptr<Host>> open(const EngineOptions& options, std::unique_ptr<Store> store);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const Rules& rules() const { return rules_; }
  const EngineOptions& options() const { return options_; }
  const Operation& operation_named(const std::string& name) const;
  onceward::Command command_for(std::shared_ptr<const Subject> subject) const {
    return api::command_for(std::move(subject), options_.key_prefix, options_.secret);
  }

  // Of what its work hands over.
  Keeping keeping() const { return {options_.max_response, parts_->engine->events().kept()}; }
  const OutcomeEvents& events() const { return parts_->engine->events(); }

  Executor& executor() { return parts_->worker; }
  Store& store() { return *parts_->opened.store; }
  const Clock& clock() const { return parts_->clock; }
  Random& random() { return parts_->random; }
  bool on_own_thread() const { return std::this_thread::get_id() == parts_->thread.get_id(); }

  // Runs it, on the host's thread, and tells, there too.
  void start(onceward::Command command, std::shared_ptr<onceward::Work> work,
             std::function<void(onceward::Outcome)> told);
  void post(std::function<void()> job);

  // One verb of the store; `start` is called with the reply on the host's thread.
  template <class T, class Start>
  Result<T> ask(Start start) {
    auto answer = std::make_shared<std::promise<Result<T>>>();
    std::future<Result<T>> future = answer->get_future();
    begin<T>(std::move(start), [answer](Result<T> result) { answer->set_value(std::move(result)); });
    return future.get();
  }
  // The same without waiting: for whoever is about to leave.
  template <class T, class Start>
  void tell(Start start) {
    begin<T>(std::move(start), [](const Result<T>&) {});
  }

 private:
  // Everything that runs. If something does not end, it is leaked rather than destroyed under it.
  struct Parts {
    SystemClock clock;
    SystemRandom random;
    OpenedStore opened;
    net::Worker worker;
    std::unique_ptr<onceward::Engine> engine;
    std::unique_ptr<Log> log;
    std::unique_ptr<Purger> purger;
    std::atomic<std::size_t> busy{0};
    std::thread thread;
  };

  Host(const EngineOptions& options, std::unique_ptr<Parts> parts);
  Result<Done> compile_rules();
  Result<Done> add_operations(bool with_match, std::vector<std::string>& patterns);
  void run();
  bool is_quiet() const;
  void drain();

  template <class T, class Start, class Then>
  void begin(Start start, Then then) {
    Parts& parts = *parts_;
    parts.busy.fetch_add(1);
    parts.worker.call(
        [&parts, start = std::move(start), then = std::move(then)] { spawn(verb<T>(parts, start, then)); });
  }
  template <class T, class Start, class Then>
  static Task<> verb(Parts& parts, Start start, Then then) {
    Result<T> result = co_await store_call<T>(parts.worker, std::move(start));
    then(std::move(result));
    parts.busy.fetch_sub(1);
  }

  const EngineOptions options_;
  Rules rules_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace onceward::api
