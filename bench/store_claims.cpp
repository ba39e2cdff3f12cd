// Claims of new keys per second against a store on a server, from one thread with so many in flight: the
// store and its client alone, no HTTP. bench/run compares it with what the server's own load tool reaches.
//
//   store_claims URL [--seconds S] [--count N] [--in-flight N] [--first N]
#include <string>
#include <thread>

#include "bench/pairs.hpp"
#include "core/scope.hpp"
#include "onceward/store.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/redis/redis_store.hpp"

namespace onceward::bench {
namespace {

struct Arguments {
  std::string url;
  double seconds = 2;
  std::uint64_t count = 0;  // 0: for so many seconds
  std::size_t in_flight = 64;
  std::uint64_t first = 0;  // number of the first key, so that runs do not meet
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "store_claims: %s\n", why.c_str());
  std::exit(1);
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    const char* value = i + 1 < count ? values[i + 1] : "";
    if (!name.starts_with("--")) {
      arguments.url = name;
      continue;
    }
    ++i;
    if (name == "--seconds")
      arguments.seconds = std::atof(value);
    else if (name == "--count")
      arguments.count = std::strtoull(value, nullptr, 10);
    else if (name == "--in-flight")
      arguments.in_flight = std::strtoull(value, nullptr, 10);
    else if (name == "--first")
      arguments.first = std::strtoull(value, nullptr, 10);
    else
      fail("unknown option " + name);
  }
  return arguments;
}

template <class S>
std::unique_ptr<Store> ready(Result<std::unique_ptr<S>> opened) {
  if (!opened) fail(opened.error().message);
  const auto give_up = SteadyClock::now() + std::chrono::seconds(10);
  while (!(*opened)->health().ready) {
    if (SteadyClock::now() > give_up) fail((*opened)->health().message);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::move(*opened);
}

std::unique_ptr<Store> open(const std::string& url) {
  if (url.starts_with("redis")) return ready(redis::open_redis({.url = url}));
  return ready(postgres::open_postgres({.url = url}));
}

class OneClaim {
 public:
  OneClaim(Store& store, Worker& worker, Job& job) : store_(store), job_(job), reply_(worker) {
    reply_.self = this;
    reply_.run = [](Completion* c) { static_cast<Claim*>(c)->self->claimed(); };
    request_.request = std::make_shared<const RequestInfo>(
        RequestInfo{"acme", "payments.create", "0a1b2c3d", {{"/amount", 7}, {"/currency", 8}}});
    request_.fingerprint.version = 1;
    request_.lease = std::chrono::seconds(30);
    request_.max_hold = std::chrono::minutes(10);
    request_.ttl = std::chrono::hours(24);
  }
  void start() {
    while (job_.more()) {
      ++job_.in_flight;
      if (job_.counted) --job_.pairs_left;
      started_ = SteadyClock::now();
      request_.scope = scope_number(++job_.next_key);
      request_.operation_id = make_operation_id(request_.scope, Timestamp(Duration(1)), 7);
      std::memcpy(request_.owner.data.data(), request_.scope.data.data(), request_.owner.data.size());
      if (!store_.claim(request_, reply_)) return;
      take();
    }
  }

 private:
  struct Claim : Reply<ClaimReply> {
    using Reply::Reply;
    OneClaim* self = nullptr;
  };
  void claimed() {
    take();
    start();
  }
  void take() {
    if (!reply_.value) fail(reply_.value.error().message);
    if (!reply_.value->granted) fail("the key was claimed before: give another --first");
    job_.finished(started_);
  }

  Store& store_;
  Job& job_;
  ClaimRequest request_;
  Claim reply_;
  SteadyClock::time_point started_;
};

int run(const Arguments& arguments) {
  const std::unique_ptr<Store> store = open(arguments.url);
  Worker worker;
  Job job;
  job.next_key = arguments.first;
  job.counted = arguments.count != 0;
  job.pairs_left = arguments.count;
  job.until = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                       std::chrono::duration<double>(arguments.seconds));
  std::vector<std::unique_ptr<OneClaim>> claims;
  for (std::size_t i = 0; i < arguments.in_flight; ++i)
    claims.push_back(std::make_unique<OneClaim>(*store, worker, job));
  drive(worker, job, claims);
  const Figures figures = figures_of(job);
  std::printf("{\"claims\": %llu, \"per_s\": %.0f, \"cpu_us\": %.2f, \"p50_us\": %.0f, \"p99_us\": %.0f}\n",
              static_cast<unsigned long long>(job.done), figures.pairs_per_s, figures.cpu_us, figures.p50_us,
              figures.p99_us);
  return 0;
}

}  // namespace
}  // namespace onceward::bench

int main(int count, char** values) {
  const auto arguments = onceward::bench::parse(count, values);
  if (arguments.url.empty()) {
    std::fprintf(stderr, "usage: store_claims URL [--seconds S] [--count N] [--in-flight N] [--first N]\n");
    return 2;
  }
  return onceward::bench::run(arguments);
}
