#include "ops/purger.hpp"

#include "base/await.hpp"

namespace onceward {
namespace {

constexpr Duration between_passes{1000};
constexpr Duration between_chunks{5};  // traffic goes first

}  // namespace

Purger::Purger(Store& store, Executor& executor, const Clock& clock, Log& log)
    : store_(store), executor_(executor), clock_(clock), log_(log) {
  alarm_.purger = this;
  alarm_.run = [](Timer* alarm) { spawn(static_cast<Alarm*>(alarm)->purger->pass()); };
}

void Purger::start() { arm(); }

void Purger::stop() {
  stopped_ = true;
  executor_.cancel(alarm_);
}

void Purger::arm() {
  if (!stopped_) executor_.arm(alarm_, clock_.mono() + between_passes);
}

Task<> Purger::pass() {
  running_ = true;
  PurgeRequest request;
  do {
    const Result<PurgeReply> reply =
        co_await store_call<PurgeReply>(executor_, [&](auto& r) { return store_.purge(request, r); });
    if (!reply) {
      log_.warning("purge failed", {{"reason", reply.error().message}});
      break;
    }
    request.cursor = reply->cursor;
    if (!request.cursor.empty()) co_await SleepUntil(executor_, clock_.mono() + between_chunks);
  } while (!request.cursor.empty() && !stopped_);
  running_ = false;
  arm();
}

}  // namespace onceward
