// Pairs (claim, complete) per second of the embedded store, next to a bare log (bench/bare_log.hpp): the
// same bytes, the same syncs, in rounds that take turns. With --purge also the latency of the traffic while
// the records that were there before it are purged: half of each segment's by copying what lives, then
// whole segments by unlinking them.
//
//   embedded_pairs [--dir D] [--seconds S] [--records N] [--body B] [--in-flight N] [--process] [--purge]
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "bench/bare_log.hpp"
#include "bench/pairs.hpp"
#include "bench/store_pair.hpp"
#include "stores/embedded/embedded_store.hpp"
#include "stores/embedded/log_format.hpp"

namespace onceward::bench {
namespace {

constexpr int rounds = 5;
constexpr std::size_t filling_in_flight = 256;

struct Arguments {
  std::string dir = "embedded-pairs.tmp";
  double seconds = 1.5;
  std::uint64_t records = 0;
  std::size_t body = 500;
  std::size_t in_flight = 0;  // 0: 1, 8 and 64
  bool process = false;
  bool purge = false;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    const char* value = i + 1 < count ? values[i + 1] : "";
    if (name == "--dir")
      arguments.dir = value, ++i;
    else if (name == "--seconds")
      arguments.seconds = std::atof(value), ++i;
    else if (name == "--records")
      arguments.records = std::strtoull(value, nullptr, 10), ++i;
    else if (name == "--body")
      arguments.body = std::strtoull(value, nullptr, 10), ++i;
    else if (name == "--in-flight")
      arguments.in_flight = std::strtoull(value, nullptr, 10), ++i;
    else if (name == "--process")
      arguments.process = true;
    else if (name == "--purge")
      arguments.purge = true;
    else
      std::fprintf(stderr, "unknown option %s\n", name.c_str()), std::exit(2);
  }
  return arguments;
}

void set_end(Job& job, double seconds) {
  job.until = SteadyClock::now() +
              std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
}

// Calls purge as the server's housekeeping does, pass after pass, on a thread of its own.
class Purging {
 public:
  explicit Purging(Store& store) : store_(store), thread_([this] { run(); }) {}
  ~Purging() {
    stopped_ = true;
    thread_.join();
  }
  std::uint64_t removed() const { return removed_; }

 private:
  struct Purged : Reply<PurgeReply> {
    using Reply::Reply;
    bool done = false;
  };
  void run() {
    while (!stopped_) {
      PurgeRequest request;
      do {
        Worker worker;
        Purged reply(worker);
        reply.run = [](Completion* c) { static_cast<Purged*>(c)->done = true; };
        if (!store_.purge(request, reply)) {
          while (!reply.done) worker.run_round();
        }
        if (!reply.value)
          std::fprintf(stderr, "purge failed: %s\n", reply.value.error().message.c_str()), std::exit(1);
        removed_ += reply.value->removed;
        request.cursor = reply.value->cursor;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // as ops/purger.cpp does
      } while (!request.cursor.empty() && !stopped_);
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  }
  Store& store_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> removed_ = 0;
  std::thread thread_;
};

class Benchmark {
 public:
  explicit Benchmark(Arguments arguments)
      : arguments_(std::move(arguments)),
        response_(std::make_shared<const Response>(
            Response{201, false, "Content-Type: application/json\r\n", std::string(arguments_.body, 'b')})) {
    std::filesystem::create_directories(arguments_.dir);
  }

  int run() {
    if (arguments_.records > 0) {
      open(embedded::Durability::process);
      pairs_of(arguments_.records, std::chrono::hours(24), "fill");
      store_.reset();
    }
    open(arguments_.process ? embedded::Durability::process : embedded::Durability::disk);
    const auto figures = store_->figures();
    std::printf("%llu records, %llu segments, %.2f bytes of filter a record\n",
                static_cast<unsigned long long>(arguments_.records),
                static_cast<unsigned long long>(figures.segments),
                static_cast<double>(figures.filter_bytes) /
                    static_cast<double>(std::max<std::uint64_t>(arguments_.records, 1)));
    // Beyond the first segment, which is the only one that was not zeroed ahead of time.
    pairs_of((80 << 20) / (arguments_.body + 400), std::chrono::hours(24), "warm");
    if (arguments_.purge) {
      under_purge(arguments_.in_flight ? arguments_.in_flight : 64);
      return 0;
    }
    BareLog bare(arguments_.dir, !arguments_.process, next_key_);
    for (const std::size_t in_flight : {1u, 8u, 64u}) {
      if (arguments_.in_flight == 0 || arguments_.in_flight == in_flight) compare(bare, in_flight);
    }
    return 0;
  }

 private:
  void open(embedded::Durability durability) {
    embedded::EmbeddedOptions options;
    options.dir = arguments_.dir + "/store";
    options.clock = &clock_;
    options.durability = durability;
    const auto started = SteadyClock::now();
    auto store = embedded::open_embedded(options);
    if (!store) std::fprintf(stderr, "%s\n", store.error().message.c_str()), std::exit(1);
    std::printf("opened in %.3f s\n", std::chrono::duration<double>(SteadyClock::now() - started).count());
    store_ = std::move(*store);
  }

  std::vector<std::unique_ptr<StorePair>> store_pairs(Worker& worker, Job& job, std::size_t in_flight,
                                                      Duration ttl) {
    std::vector<std::unique_ptr<StorePair>> pairs;
    for (std::size_t i = 0; i < in_flight; ++i) {
      pairs.push_back(std::make_unique<StorePair>(*store_, worker, clock_, job, response_, ttl));
    }
    return pairs;
  }

  void pairs_of(std::uint64_t count, Duration ttl, const char* name) {
    Worker worker;
    Job job;
    job.counted = true;
    job.pairs_left = count;
    job.next_key = next_key_;
    auto pairs = store_pairs(worker, job, filling_in_flight, ttl);
    drive(worker, job, pairs);
    print(name, filling_in_flight, job);
    next_key_ = job.next_key;
    std::string bytes;
    embedded::append_record_entry(pairs.front()->last_claim(), bytes);
    claim_bytes_ = bytes.size();
    bytes.clear();
    embedded::append_record_entry(pairs.front()->last_outcome(), bytes);
    outcome_bytes_ = bytes.size();
  }

  void store_round(Worker& worker, Job& job, std::vector<std::unique_ptr<StorePair>>& pairs, double seconds) {
    const auto before = store_->figures();
    job.next_key = next_key_;
    set_end(job, seconds);
    drive(worker, job, pairs);
    next_key_ = job.next_key;
    const auto after = store_->figures();
    job.bytes += after.bytes_written - before.bytes_written;
    job.batches += after.batches - before.batches;
  }

  void bare_round(BareLog& bare, Worker& worker, Job& job, std::vector<std::unique_ptr<BarePair>>& pairs,
                  double seconds) {
    const std::uint64_t bytes_before = bare.bytes_written;
    const std::uint64_t batches_before = bare.batches;
    job.next_key = bare_next_key_;
    set_end(job, seconds);
    drive(worker, job, pairs);
    bare_next_key_ = job.next_key;
    job.bytes += bare.bytes_written - bytes_before;
    job.batches += bare.batches - batches_before;
  }

  void compare(BareLog& bare, std::size_t in_flight) {
    Worker worker;
    Worker bare_worker;
    bare.worker = &bare_worker;
    Job job;
    Job bare_job;
    auto pairs = store_pairs(worker, job, in_flight, std::chrono::hours(24));
    std::vector<std::unique_ptr<BarePair>> bare_pairs;
    for (std::size_t i = 0; i < in_flight; ++i)
      bare_pairs.push_back(std::make_unique<BarePair>(bare, bare_job, claim_bytes_, outcome_bytes_));
    for (int round = 0; round < rounds; ++round) {
      store_round(worker, job, pairs, arguments_.seconds / rounds);
      bare_round(bare, bare_worker, bare_job, bare_pairs, arguments_.seconds / rounds);
    }
    const Figures store = print("store", in_flight, job);
    const Figures reference = print("bare", in_flight, bare_job);
    std::printf("       store / bare: throughput %.2f, cpu %.2f\n", store.pairs_per_s / reference.pairs_per_s,
                store.cpu_us / reference.cpu_us);
  }

  // Records of which every other one lives on: their segments are cleaned. Then records that all go:
  // their segments are unlinked.
  void under_purge(std::size_t in_flight) {
    const std::uint64_t half = (256 << 20) / (claim_bytes_ + outcome_bytes_) / 2;
    const Duration soon = std::chrono::seconds(1);
    for (int part = 0; part < 8; ++part) {
      pairs_of(half / 8 / 4, std::chrono::hours(24), "lives");
      pairs_of(half / 8 * 7 / 4, soon, "dies");
    }
    pairs_of(half, soon, "dies");
    Worker worker;
    Job calm;
    auto calm_pairs = store_pairs(worker, calm, in_flight, std::chrono::hours(24));
    Job purged;
    auto purged_pairs = store_pairs(worker, purged, in_flight, std::chrono::hours(24));
    store_round(worker, calm, calm_pairs, arguments_.seconds);
    std::uint64_t removed = 0;
    {
      const Purging purging(*store_);
      store_round(worker, purged, purged_pairs, arguments_.seconds);
      removed = purging.removed();
    }
    const Figures without = print("calm", in_flight, calm);
    const Figures with = print("purged", in_flight, purged);
    std::printf("       %llu records purged; p99 with purging / without: %.2f\n",
                static_cast<unsigned long long>(removed), with.p99_us / without.p99_us);
  }

  const Arguments arguments_;
  const SystemClock clock_;
  const std::shared_ptr<const Response> response_;
  std::unique_ptr<embedded::EmbeddedStore> store_;
  std::uint64_t next_key_ = 0;
  std::uint64_t bare_next_key_ = 1ull << 40;
  std::size_t claim_bytes_ = 0;
  std::size_t outcome_bytes_ = 0;
};

}  // namespace
}  // namespace onceward::bench

int main(int count, char** values) {
  return onceward::bench::Benchmark(onceward::bench::parse(count, values)).run();
}
