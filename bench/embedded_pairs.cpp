// Pairs (claim, complete) per second of the embedded store, next to a bare log: the same number of bytes
// in the same batches, with the same write, sync and wake-up, and nothing else. Both in one run.
//
//   embedded_pairs [--dir D] [--seconds S] [--records N] [--body B] [--process]
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/crc32c.hpp"
#include "core/record_codec.hpp"
#include "core/scope.hpp"
#include "stores/embedded/embedded_store.hpp"

namespace onceward::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

class SystemClock final : public Clock {
 public:
  Timestamp now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  MonoTime mono() const override {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(SteadyClock::now());
  }
};

// One worker: runs what is posted on the thread that calls run().
class Worker final : public Executor {
 public:
  void post(Completion* first) override {
    const std::lock_guard lock(mutex_);
    (first_ ? last_->next : first_) = first;
    for (last_ = first; last_->next; last_ = last_->next) {
    }
    wake_.notify_one();
  }
  void arm(Timer&, MonoTime) override { std::abort(); }
  void cancel(Timer&) override {}
  void run_some() {
    Completion* list = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return first_ != nullptr; });
      list = std::exchange(first_, nullptr);
    }
    while (list) {
      Completion* next = list->next;
      list->run(list);
      list = next;
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  Completion* first_ = nullptr;
  Completion* last_ = nullptr;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Figures {
  double pairs_per_s = 0;
  double cpu_us = 0;
  double p50_us = 0;
  double p99_us = 0;
  double bytes = 0;
  double writes_per_batch = 0;
};

struct Job {
  std::uint64_t next_key = 0;
  std::uint64_t pairs_left = 0;  // 0: until `until`
  SteadyClock::time_point until;
  std::size_t in_flight = 0;
  std::uint64_t done = 0;
  bool counted = false;
  std::vector<float> latencies_us;
  bool more() const { return counted ? pairs_left > 0 : SteadyClock::now() < until; }
};

Scope scope_number(std::uint64_t number) {
  Scope scope;  // spread as a hash would be, without paying for one here
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t x = number * 4 + i + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    std::memcpy(scope.data.data() + 8 * i, &x, 8);
  }
  return scope;
}

// One of the pairs in flight against the store.
class StorePair {
 public:
  StorePair(Store& store, Worker& worker, const Clock& clock, Job& job,
            std::shared_ptr<const Response> response)
      : store_(store), clock_(clock), job_(job), claim_(worker), complete_(worker) {
    claim_.self = complete_.self = this;
    claim_.run = [](Completion* c) { static_cast<Claim*>(c)->self->claimed(); };
    complete_.run = [](Completion* c) { static_cast<Complete*>(c)->self->completed(); };
    request_.request =
        std::make_shared<const RequestInfo>(RequestInfo{"acme", "payments.create", "0a1b2c3d", {}});
    request_.fingerprint.version = 1;
    request_.lease = std::chrono::seconds(30);
    request_.max_hold = std::chrono::minutes(10);
    request_.ttl = std::chrono::hours(24);
    completion_.response = std::move(response);
  }
  void start() {
    if (!job_.more()) return;
    ++job_.in_flight;
    if (job_.counted) --job_.pairs_left;
    request_.scope = scope_number(++job_.next_key);
    request_.operation_id = make_operation_id(request_.scope, clock_.now(), 7);
    request_.owner.data[0] = static_cast<std::uint8_t>(job_.next_key);
    started_ = SteadyClock::now();
    if (store_.claim(request_, claim_)) claimed();
  }

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
    job_.latencies_us.push_back(
        std::chrono::duration<float, std::micro>(SteadyClock::now() - started_).count());
    ++job_.done;
    --job_.in_flight;
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

// The bare log.
class BareLog {
 public:
  BareLog(const std::string& path, bool synced) : synced_(synced) {
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    zero();
    thread_ = std::thread([this] { loop(); });
  }
  ~BareLog() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      wake_.notify_one();
    }
    thread_.join();
    ::close(file_);
  }
  struct Write {
    Write* next = nullptr;
    std::string_view bytes;
    Completion* reply = nullptr;
  };
  void submit(Write* write) {
    write->next = nullptr;
    const std::lock_guard lock(mutex_);
    (first_ ? last_->next : first_) = write;
    last_ = write;
    wake_.notify_one();
  }
  std::uint64_t bytes = 0;
  std::uint64_t batches = 0;
  Worker* worker = nullptr;

 private:
  static constexpr std::size_t segment = 64 << 20;
  void zero() {
    const std::string zeros(1 << 20, '\0');
    for (std::size_t at = 0; at < segment; at += zeros.size()) {
      if (::pwrite(file_, zeros.data(), zeros.size(), static_cast<off_t>(at)) < 0) std::exit(1);
    }
    ::fsync(file_);
  }
  void loop() {
    std::string buffer;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return closing_ || first_; });
      if (!first_) return;
      Write* list = std::exchange(first_, nullptr);
      lock.unlock();
      buffer.assign(16, '\0');
      Completion* replies = nullptr;
      Completion** end = &replies;
      for (; list; list = list->next) {
        buffer += list->bytes;
        *end = list->reply;
        end = &list->reply->next;
      }
      *end = nullptr;
      const std::uint32_t crc = crc32c(buffer);
      std::memcpy(buffer.data(), &crc, 4);
      if (at_ + buffer.size() > segment) at_ = 0;  // zeroed once, written over: no roll to pay for
      if (::pwrite(file_, buffer.data(), buffer.size(), static_cast<off_t>(at_)) < 0) std::exit(1);
      if (synced_) ::fdatasync(file_);
      at_ += buffer.size();
      bytes += buffer.size();
      ++batches;
      worker->post(replies);
      lock.lock();
    }
  }

  const bool synced_;
  int file_;
  std::uint64_t at_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  Write* first_ = nullptr;
  Write* last_ = nullptr;
  bool closing_ = false;
  std::thread thread_;
};

class BarePair {
 public:
  BarePair(BareLog& log, Job& job, std::size_t claim_bytes, std::size_t outcome_bytes)
      : log_(log), job_(job), claim_bytes_(claim_bytes, 'c'), outcome_bytes_(outcome_bytes, 'o') {
    reply_.self = this;
    reply_.run = [](Completion* c) { static_cast<Replied*>(c)->self->written(); };
    write_.reply = &reply_;
  }
  void start() {
    if (!job_.more()) return;
    ++job_.in_flight;
    started_ = SteadyClock::now();
    claimed_ = false;
    write_.bytes = claim_bytes_;
    log_.submit(&write_);
  }

 private:
  struct Replied : Completion {
    BarePair* self = nullptr;
  };
  void written() {
    if (!claimed_) {
      claimed_ = true;
      write_.bytes = outcome_bytes_;
      log_.submit(&write_);
      return;
    }
    job_.latencies_us.push_back(
        std::chrono::duration<float, std::micro>(SteadyClock::now() - started_).count());
    ++job_.done;
    --job_.in_flight;
    start();
  }

  BareLog& log_;
  Job& job_;
  const std::string claim_bytes_;
  const std::string outcome_bytes_;
  Replied reply_;
  BareLog::Write write_;
  bool claimed_ = false;
  SteadyClock::time_point started_;
};

template <class Pair>
Figures drive(Worker& worker, Job& job, std::vector<std::unique_ptr<Pair>>& pairs) {
  const double cpu_before = cpu_seconds();
  const auto started = SteadyClock::now();
  for (auto& pair : pairs) pair->start();
  while (job.in_flight > 0) worker.run_some();
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - started).count();
  const double cpu = cpu_seconds() - cpu_before;
  std::sort(job.latencies_us.begin(), job.latencies_us.end());
  Figures figures;
  const auto done = static_cast<double>(std::max<std::uint64_t>(job.done, 1));
  figures.pairs_per_s = done / seconds;
  figures.cpu_us = cpu * 1e6 / done;
  if (!job.latencies_us.empty()) {
    figures.p50_us = job.latencies_us[job.latencies_us.size() / 2];
    figures.p99_us = job.latencies_us[job.latencies_us.size() * 99 / 100];
  }
  return figures;
}

void print(const char* what, std::size_t in_flight, const Figures& f) {
  std::printf(
      "%-6s %4zu in flight  %9.0f pairs/s  %6.2f us cpu/pair  p50 %7.0f us  p99 %7.0f us  %6.0f bytes/pair  "
      "%5.1f writes/batch\n",
      what, in_flight, f.pairs_per_s, f.cpu_us, f.p50_us, f.p99_us, f.bytes, f.writes_per_batch);
  std::fflush(stdout);
}

struct Arguments {
  std::string dir = "embedded-pairs.tmp";
  double seconds = 1.5;
  std::uint64_t records = 0;
  std::size_t body = 500;
  bool process = false;
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
    else if (name == "--process")
      arguments.process = true;
    else
      std::fprintf(stderr, "unknown option %s\n", name.c_str()), std::exit(2);
  }
  return arguments;
}

int run(const Arguments& arguments) {
  namespace fs = std::filesystem;
  fs::create_directories(arguments.dir);
  SystemClock clock;
  embedded::EmbeddedOptions options;
  options.dir = arguments.dir + "/store";
  options.clock = &clock;
  const auto response = std::make_shared<const Response>(
      Response{201, false, "Content-Type: application/json\r\n", std::string(arguments.body, 'b')});
  std::uint64_t next_key = 0;
  const auto open = [&](embedded::Durability durability) {
    options.durability = durability;
    const auto started = SteadyClock::now();
    auto store = embedded::open_embedded(options);
    if (!store) std::fprintf(stderr, "%s\n", store.error().message.c_str()), std::exit(1);
    std::printf("opened in %.3f s\n", std::chrono::duration<double>(SteadyClock::now() - started).count());
    return std::move(*store);
  };
  if (arguments.records > 0) {
    const auto store = open(embedded::Durability::process);
    Worker worker;
    Job job;
    job.counted = true;
    job.pairs_left = arguments.records;
    std::vector<std::unique_ptr<StorePair>> pairs;
    for (int i = 0; i < 256; ++i)
      pairs.push_back(std::make_unique<StorePair>(*store, worker, clock, job, response));
    print("fill", 256, drive(worker, job, pairs));
    next_key = job.next_key;
  }
  const auto durability = arguments.process ? embedded::Durability::process : embedded::Durability::disk;
  const auto store = open(durability);
  const auto figures_now = store->figures();
  std::printf("%llu records, %llu segments, %.2f bytes of filter a record\n",
              static_cast<unsigned long long>(arguments.records),
              static_cast<unsigned long long>(figures_now.segments),
              static_cast<double>(figures_now.filter_bytes) /
                  static_cast<double>(std::max<std::uint64_t>(arguments.records, 1)));
  {  // beyond the first segment, which is the only one not zeroed ahead of time
    Worker worker;
    Job job;
    job.next_key = next_key;
    job.counted = true;
    job.pairs_left = (80 << 20) / (arguments.body + 400);
    std::vector<std::unique_ptr<StorePair>> pairs;
    for (int i = 0; i < 256; ++i)
      pairs.push_back(std::make_unique<StorePair>(*store, worker, clock, job, response));
    print("warm", 256, drive(worker, job, pairs));
    next_key = job.next_key;
  }
  for (const std::size_t in_flight : {1u, 8u, 64u}) {
    Worker worker;
    Job job;
    job.next_key = next_key;
    job.until = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                         std::chrono::duration<double>(arguments.seconds));
    std::vector<std::unique_ptr<StorePair>> pairs;
    for (std::size_t i = 0; i < in_flight; ++i)
      pairs.push_back(std::make_unique<StorePair>(*store, worker, clock, job, response));
    const auto before = store->figures();
    Figures figures = drive(worker, job, pairs);
    const auto after = store->figures();
    next_key = job.next_key;
    const auto done = static_cast<double>(std::max<std::uint64_t>(job.done, 1));
    figures.bytes = static_cast<double>(after.bytes_written - before.bytes_written) / done;
    figures.writes_per_batch =
        2 * done / static_cast<double>(std::max<std::uint64_t>(after.batches - before.batches, 1));
    print("store", in_flight, figures);

    BareLog bare(arguments.dir + "/bare", !arguments.process);
    Worker bare_worker;
    bare.worker = &bare_worker;
    Job bare_job;
    bare_job.until = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                              std::chrono::duration<double>(arguments.seconds));
    const auto claim_bytes = static_cast<std::size_t>(
        std::max(figures.bytes - static_cast<double>(arguments.body) - 60, 100.0) / 2);
    std::vector<std::unique_ptr<BarePair>> bare_pairs;
    for (std::size_t i = 0; i < in_flight; ++i) {
      bare_pairs.push_back(
          std::make_unique<BarePair>(bare, bare_job, claim_bytes, claim_bytes + arguments.body));
    }
    Figures bare_figures = drive(bare_worker, bare_job, bare_pairs);
    const auto bare_done = static_cast<double>(std::max<std::uint64_t>(bare_job.done, 1));
    bare_figures.bytes = static_cast<double>(bare.bytes) / bare_done;
    bare_figures.writes_per_batch =
        2 * bare_done / static_cast<double>(std::max<std::uint64_t>(bare.batches, 1));
    print("bare", in_flight, bare_figures);
    std::printf("       store / bare: throughput %.2f, cpu %.2f\n",
                figures.pairs_per_s / bare_figures.pairs_per_s, figures.cpu_us / bare_figures.cpu_us);
  }
  return 0;
}

}  // namespace
}  // namespace onceward::bench

int main(int count, char** values) { return onceward::bench::run(onceward::bench::parse(count, values)); }
