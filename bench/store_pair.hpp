// StorePair: one of the pairs in flight against a store. The worker's thread.
#pragma once

#include "bench/pairs.hpp"
#include "core/scope.hpp"
#include "onceward/store.hpp"

namespace onceward::bench {

class SystemClock final : public Clock {
 public:
  Timestamp now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  MonoTime mono() const override {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(SteadyClock::now());
  }
};

class StorePair {
 public:
  StorePair(Store& store, Worker& worker, const Clock& clock, Job& job,
            std::shared_ptr<const Response> response, Duration ttl)
      : store_(store), clock_(clock), job_(job), claim_(worker), complete_(worker) {
    claim_.self = complete_.self = this;
    claim_.run = [](Completion* c) { static_cast<Claim*>(c)->self->claimed(); };
    complete_.run = [](Completion* c) { static_cast<Complete*>(c)->self->completed(); };
    request_.request =
        std::make_shared<const RequestInfo>(RequestInfo{"acme", "payments.create", "0a1b2c3d", {}});
    request_.fingerprint.version = 1;
    request_.lease = std::chrono::seconds(30);
    request_.max_hold = std::chrono::minutes(10);
    request_.ttl = ttl;
    completion_.response = std::move(response);
  }
  void start() {
    if (!job_.more()) return;
    ++job_.in_flight;
    if (job_.counted) --job_.pairs_left;
    started_ = SteadyClock::now();
    request_.scope = scope_number(++job_.next_key);
    request_.operation_id = make_operation_id(request_.scope, clock_.now(), 7);
    request_.owner.data[0] = static_cast<std::uint8_t>(job_.next_key);
    if (store_.claim(request_, claim_)) claimed();
  }
  const Record& last_claim() const { return claim_.value->record; }
  const Record& last_outcome() const { return *complete_.value; }

 private:
  struct Claim : Reply<ClaimReply> {
    using Reply::Reply;
    StorePair* self = nullptr;
  };
  struct Complete : Reply<Record> {
    using Reply::Reply;
    StorePair* self = nullptr;
  };
  void claimed() {
    if (!claim_.value || !claim_.value->granted) {
      std::fprintf(stderr, "claim failed: %s\n",
                   claim_.value ? "refused" : claim_.value.error().message.c_str());
      std::exit(1);
    }
    completion_.fence = fence_of(claim_.value->record);
    if (store_.complete(completion_, complete_)) completed();
  }
  void completed() {
    if (!complete_.value) {
      std::fprintf(stderr, "complete failed: %s\n", complete_.value.error().message.c_str());
      std::exit(1);
    }
    job_.finished(started_);
    start();
  }

  Store& store_;
  const Clock& clock_;
  Job& job_;
  ClaimRequest request_;
  CompleteRequest completion_;
  Claim claim_;
  Complete complete_;
  SteadyClock::time_point started_;
};

}  // namespace onceward::bench
