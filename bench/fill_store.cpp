// Fills a folder of the embedded store with final records, so that the proxy can be measured in front of
// many of them: fill_store FOLDER RECORDS
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "base/system.hpp"
#include "core/scope.hpp"
#include "stores/embedded/embedded_store.hpp"

namespace onceward::bench {
namespace {

constexpr std::size_t in_flight = 256;

// Runs what the store posts, on the thread that fills.
class Mailbox final : public Executor {
 public:
  void post(Completion* first) override {
    const std::lock_guard lock(mutex_);
    while (first) {
      posted_.push_back(first);
      first = first->next;
    }
    filled_.notify_one();
  }
  void arm(Timer&, MonoTime) override {}
  void cancel(Timer&) override {}
  void run_posted() {
    std::vector<Completion*> batch;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return !posted_.empty(); });
      batch.swap(posted_);
    }
    for (Completion* completion : batch) completion->run(completion);
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Completion*> posted_;
};

class Filler {
 public:
  Filler(Store& store, const Clock& clock, std::size_t records)
      : store_(store), clock_(clock), records_(records) {
    for (std::size_t i = 0; i < in_flight; ++i) lanes_.push_back(std::make_unique<Lane>(*this));
  }

  bool run() {
    for (auto& lane : lanes_) next(*lane);
    while (done_ < records_ && !failed_) mailbox_.run_posted();
    return !failed_;
  }

 private:
  // One pair after another.
  struct Lane {
    explicit Lane(Filler& owner)
        : filler(owner), claimed(owner.mailbox_, *this), completed(owner.mailbox_, *this) {
      claimed.run = [](Completion* self) { on_claimed(static_cast<LaneReply<ClaimReply>*>(self)->lane); };
      completed.run = [](Completion* self) { on_completed(static_cast<LaneReply<Record>*>(self)->lane); };
    }
    template <class T>
    struct LaneReply : Reply<T> {
      LaneReply(Executor& executor, Lane& owner) : Reply<T>(executor), lane(owner) {}
      Lane& lane;
    };
    static void on_claimed(Lane& lane) { lane.filler.complete(lane); }
    static void on_completed(Lane& lane) { lane.filler.finished(lane); }

    Filler& filler;
    ClaimRequest request;
    CompleteRequest outcome;
    LaneReply<ClaimReply> claimed;
    LaneReply<Record> completed;
  };

  void next(Lane& lane) {
    if (begun_ == records_) return;
    const std::string name = "fill-" + std::to_string(begun_++);
    lane.request.scope = Scope{sha256(name)};
    lane.request.operation_id = make_operation_id(lane.request.scope, clock_.now(), 1);
    lane.request.owner.data[0] = 1;
    lane.request.fingerprint = {1, Digest{sha256("body")}};
    lane.request.request = info_;
    lane.request.lease = std::chrono::seconds(30);
    lane.request.max_hold = std::chrono::minutes(10);
    lane.request.ttl = std::chrono::hours(24);
    if (store_.claim(lane.request, lane.claimed)) complete(lane);
  }
  void complete(Lane& lane) {
    if (!lane.claimed.value) return fail(lane.claimed.value.error());
    lane.outcome = {fence_of(lane.claimed.value->record), State::succeeded, response_, {}};
    if (store_.complete(lane.outcome, lane.completed)) finished(lane);
  }
  void finished(Lane& lane) {
    if (!lane.completed.value) return fail(lane.completed.value.error());
    ++done_;
    next(lane);
  }
  void fail(const Error& error) {
    failed_ = true;
    std::fprintf(stderr, "fill_store: %s\n", error.message.c_str());
  }

  Store& store_;
  const Clock& clock_;
  const std::size_t records_;
  Mailbox mailbox_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t begun_ = 0;
  std::size_t done_ = 0;
  bool failed_ = false;
  const std::shared_ptr<const RequestInfo> info_ =
      std::make_shared<const RequestInfo>(RequestInfo{"", "POST /orders", "01234567", {}});
  const std::shared_ptr<const Response> response_ =
      std::make_shared<const Response>(Response{201, false, "", std::string(100, 'x')});
};

}  // namespace
}  // namespace onceward::bench

int main(int count, char** arguments) {
  using namespace onceward;
  if (count != 3) {
    std::fprintf(stderr, "usage: fill_store FOLDER RECORDS\n");
    return 2;
  }
  SystemClock clock;
  embedded::EmbeddedOptions options;
  options.dir = arguments[1];
  options.durability = embedded::Durability::process;
  options.clock = &clock;
  const auto store = embedded::open_embedded(options);
  if (!store) {
    std::fprintf(stderr, "fill_store: %s\n", store.error().message.c_str());
    return 1;
  }
  bench::Filler filler(**store, clock, std::strtoul(arguments[2], nullptr, 10));
  return filler.run() ? 0 : 1;
}
