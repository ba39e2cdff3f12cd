#include "onceward/client.hpp"

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/assert.hpp"
#include "client/call.hpp"
#include "client/intent_state.hpp"

namespace onceward::client {
namespace {

Error not_the_same(const std::string& name, const char* what) {
  return {Errc::invalid, "intent '" + name + "' was begun with another " + what +
                             "; its key cannot be used for this one. Nothing was sent"};
}

}  // namespace

struct Client::Impl {
  explicit Impl(ClientOptions given)
      : options(std::move(given)),
        budget(options.budget_ratio, options.budget_max),
        thread([this] { worker.run(); }) {}

  ~Impl() {
    worker.call([this] {
      for (const auto& call : calls) call->stop();
    });
    {
      std::unique_lock lock(mutex);
      idle.wait(lock, [this] { return active == 0; });
    }
    worker.call([this] {
      origins.clear();
      worker.stop();
    });
    thread.join();
  }

  // Everything that must be true before the first byte, on the caller's thread because it may wait for a
  // disk. Nothing: go on. An outcome: the intent has ended already.
  Result<std::optional<Outcome>> prepare(detail::IntentState& state, const WireRequest& wire);
  Result<Origin*> origin_of(const std::string& url);
  Task<> run(std::shared_ptr<Call> call, detail::IntentState& state, Callback callback);
  static Outcome settle(detail::IntentState& state, Call::End end);
  void start(Intent& intent, const Request& request, std::stop_token stop, Callback callback);

  const ClientOptions options;
  net::Worker worker;
  // The worker's thread only.
  RetryBudget budget;
  std::map<std::string, Origin> origins;
  std::set<std::shared_ptr<Call>> calls;

  std::mutex mutex;
  std::condition_variable idle;
  std::size_t active = 0;  // guarded by mutex

  std::thread thread;
};

Result<std::optional<Outcome>> Client::Impl::prepare(detail::IntentState& state, const WireRequest& wire) {
  IntentRecord& record = state.record;
  if (!record.request.empty() && record.request != wire.request) return not_the_same(record.name, "request");
  if (record.end) {
    Outcome ended = *record.end;
    ended.from_intent = true;
    return std::optional(std::move(ended));
  }
  // Another caller is another scope to most servers: there the key would be new, and the request run again.
  if (record.in_doubt && record.identity != wire.identity) return not_the_same(record.name, "identity");
  const IntentRecord before = record;
  record.request = wire.request;
  record.identity = wire.identity;
  record.in_doubt = true;
  if (const Result<Done> kept = state.save(); !kept) {
    record = before;
    return Error{kept.error().code, kept.error().message + ". Nothing was sent"};
  }
  return std::optional<Outcome>();
}

Result<Origin*> Client::Impl::origin_of(const std::string& url) {
  if (const auto found = origins.find(url); found != origins.end()) return &found->second;
  http::UpstreamOptions upstream{.url = url, .connect_timeout = options.connect_timeout};
  upstream.tls.ca_file = options.ca_file;
  upstream.tls.verify = options.verify_tls;
  auto made = http::Upstream::make(worker, upstream);
  if (!made) return made.error();
  Origin origin{std::move(*made), CircuitBreaker(options.breaker_failures, options.breaker_pause)};
  return &origins.emplace(url, std::move(origin)).first->second;
}

Outcome Client::Impl::settle(detail::IntentState& state, Call::End end) {
  state.record.in_doubt = end.in_doubt;
  if (end.outcome.final) state.record.end = end.outcome;
  // If this cannot be written, a restart will ask the server again, which is safe: what is told is still
  // true.
  if (const Result<Done> kept = state.save(); !kept)
    end.outcome.reason += "; not kept: " + kept.error().message;
  return std::move(end.outcome);
}

Task<> Client::Impl::run(std::shared_ptr<Call> call, detail::IntentState& state, Callback callback) {
  Result<Outcome> result = Error{};
  if (const Result<Origin*> origin = origin_of(call->request().origin)) {
    calls.insert(call);
    result = settle(state, co_await call->run(**origin, budget));
    calls.erase(call);
  } else {
    state.record.in_doubt = call->in_doubt();
    (void)state.save();  // at worst it stays in doubt
    result = origin.error();
  }
  callback(std::move(result));
  const std::lock_guard lock(mutex);
  if (--active == 0) idle.notify_all();
}

void Client::Impl::start(Intent& intent, const Request& request, std::stop_token stop, Callback callback) {
  detail::IntentState& state = detail::IntentState::of(intent);
  const bool was_in_doubt = state.record.in_doubt;
  Result<WireRequest> wire = make_wire_request(request, state.record.key, options);
  Result<std::optional<Outcome>> prepared = wire ? prepare(state, *wire) : wire.error();
  if (!prepared) return worker.call([callback, error = prepared.error()] { callback(error); });
  if (*prepared) return worker.call([callback, ended = **prepared] { callback(ended); });
  auto call = std::make_shared<Call>(worker, options, std::move(*wire), was_in_doubt);
  {
    const std::lock_guard lock(mutex);
    ++active;
  }
  // Asking to stop only posts to the worker, so it may come from any thread and at any moment; what it posts
  // holds the call, so it may also come late.
  using Stopper = std::stop_callback<std::function<void()>>;
  auto stopper = std::make_shared<std::optional<Stopper>>();
  worker.call([this, call, &state, callback = std::move(callback), stopper] {
    spawn(run(call, state, [callback, stopper](Result<Outcome> result) {
      stopper->reset();
      callback(std::move(result));
    }));
  });
  worker.call([this, call, stop = std::move(stop), stopper] {
    if (calls.contains(call)) stopper->emplace(stop, [this, call] { worker.call([call] { call->stop(); }); });
  });
}

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

Result<Outcome> Client::send(Intent& intent, const Request& request, std::stop_token stop) {
  ONCEWARD_ASSERT(std::this_thread::get_id() != impl_->thread.get_id());
  std::promise<Result<Outcome>> ended;
  impl_->start(intent, request, std::move(stop),
               [&ended](Result<Outcome> result) { ended.set_value(std::move(result)); });
  return ended.get_future().get();
}

void Client::send_async(Intent& intent, Request request, Callback callback, std::stop_token stop) {
  impl_->start(intent, request, std::move(stop), std::move(callback));
}

}  // namespace onceward::client
