// onceward store copy FROM TO: moves a service from one store to another. Records arrive as they are; running
// it again finishes what was interrupted and brings what has changed since.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/await.hpp"
#include "base/system.hpp"
#include "cli/commands.hpp"
#include "cli/record_table.hpp"
#include "cli/store_copy.hpp"
#include "factory/open_store.hpp"
#include "net/worker.hpp"
#include "onceward/outbox_store.hpp"

namespace onceward::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration patience = 15s;  // until a server must have answered

struct CopyOptions {
  std::string from;
  std::string to;
  bool verify = false;
  bool json = false;
};

int complain(const std::string& why, int code) {
  std::fprintf(stderr, "onceward store copy: %s\n", why.c_str());
  return code;
}

Error invalid(std::string why) { return {Errc::invalid, std::move(why)}; }

Result<OpenedStore> open_named(const std::string& url, bool must_exist, const Clock& clock) {
  ConfigSources only_this;
  only_this.flags = {{"--store", url}};
  auto config = load_config(only_this);
  if (!config) return invalid(config.error().messages.front());
  if (config->store.kind == StoreKind::memory)
    return invalid("a memory store belongs to its process: there is nothing to copy from or to");
  if (must_exist && config->store.kind == StoreKind::file &&
      !std::filesystem::is_directory(config->store.folder()))
    return invalid(config->store.folder() + ": there is no such folder");
  if (const Result<Done> fit = check_store(*config); !fit) return invalid(fit.error().message);
  return open_store(*config, clock);
}

Task<Result<Done>> wait_until_ready(Executor& executor, const OpenedStore& store, const char* which) {
  const MonoTime give_up = net::Worker::now() + patience;
  for (;;) {
    const Readiness state = store.readiness();
    if (state.ready) co_return Done{};
    if (net::Worker::now() >= give_up)
      co_return Error{Errc::unavailable, fmt::format("{} is not ready: {}", which, state.message)};
    co_await SleepUntil(executor, net::Worker::now() + 20ms);
  }
}

class CopyRun {
 public:
  CopyRun(const CopyOptions& options, OpenedStore& from, OpenedStore& to)
      : options_(options), from_(from), to_(to), draws_(::isatty(STDERR_FILENO) == 1 && !options.json) {}

  Result<Done> run() {
    worker_.call([this] { spawn(story()); });
    worker_.run();
    if (draws_) std::fputs("\n", stderr);
    return result_;
  }
  const CopyCounts& counts() const { return counts_; }

 private:
  Task<> story() {
    result_ = co_await copy();
    worker_.stop();
  }

  Task<Result<Done>> copy() {
    for (const auto& [store, which] : {std::pair{&from_, "FROM"}, std::pair{&to_, "TO"}}) {
      const Result<Done> ready = co_await wait_until_ready(worker_, *store, which);
      if (!ready) co_return ready;
    }
    if (const Result<Done> clear = co_await nothing_waits(); !clear) co_return clear;
    const Result<StoreStats> stats =
        co_await store_call<StoreStats>(worker_, [this](auto& reply) { return from_.store->stats(reply); });
    if (!stats) co_return stats.error();
    total_ = stats->records;
    auto* const source = dynamic_cast<Adopter*>(from_.store.get());
    auto* const target = dynamic_cast<Adopter*>(to_.store.get());
    if (!source) co_return Error{Errc::refused, "FROM gives no records to another store"};
    if (!target) co_return Error{Errc::refused, "TO takes no records of another store"};
    const Result<Done> copied = co_await copy_all(*source, *target);
    counts_.unreadable += source->passed_over();
    if (!copied) co_return copied;
    // What used FROM meanwhile may have left some.
    if (const Result<Done> clear = co_await nothing_waits(); !clear) co_return clear;
    if (!options_.verify) co_return Done{};
    co_return co_await compare_all(*source, *target);
  }

  Task<Result<Done>> copy_all(Adopter& source, Adopter& target) {
    const Result<Done> copied =
        co_await copy_store(worker_, *from_.store, target, counts_,
                            [this](const CopyCounts& so_far) { show("copied", so_far.read); });
    if (!copied) co_return copied;
    co_return co_await copy_marks(worker_, source, target, counts_);
  }

  Task<Result<Done>> compare_all(Adopter& source, Adopter& target) {
    CopyCounts compared;
    Result<Done> seen =
        co_await compare_stores(worker_, *from_.store, *to_.store, compared,
                                [this](const CopyCounts& so_far) { show("compared", so_far.read); });
    if (seen) seen = co_await compare_marks(worker_, source, target, compared);
    counts_.different = compared.different + compared.unreadable;
    counts_.examples.insert(counts_.examples.end(), compared.examples.begin(), compared.examples.end());
    co_return seen;
  }

  // Events leave by the relay of the store that they were written in, and by no other.
  Task<Result<Done>> nothing_waits() {
    OutboxStore* outbox = from_.store->outbox();
    if (!outbox) co_return Done{};
    const Result<OutboxStats> stats = co_await store_call<OutboxStats>(
        worker_, [outbox](auto& reply) { return outbox->outbox_stats(reply); });
    if (!stats) co_return stats.error();
    const std::uint64_t waiting = stats->pending + stats->set_aside;
    if (waiting == 0) co_return Done{};
    co_return Error{Errc::refused,
                    fmt::format("{} events wait in FROM's outbox, and events are not copied: let the relay "
                                "send them first",
                                waiting)};
  }

  void show(const char* what, std::uint64_t done) const {
    if (options_.json)
      std::puts(boost::json::serialize(boost::json::object{{what, done}, {"of", total_}}).c_str());
    if (!draws_) return;
    const double share = static_cast<double>(done) / static_cast<double>(std::max(total_, done) + 1);
    std::fprintf(stderr, "\r%s  %llu %s ", progress_bar(share).c_str(), static_cast<unsigned long long>(done),
                 what);
  }

  const CopyOptions& options_;
  OpenedStore& from_;
  OpenedStore& to_;
  const bool draws_;
  net::Worker worker_;
  CopyCounts counts_;
  std::uint64_t total_ = 0;
  Result<Done> result_ = Done{};
};

boost::json::object as_json(const CopyCounts& counts, bool verified) {
  boost::json::object out{{"read", counts.read},       {"written", counts.written},
                          {"present", counts.present}, {"gone", counts.gone},
                          {"held", counts.held},       {"unreadable", counts.unreadable},
                          {"marks", counts.marks},     {"marks_written", counts.marks_written}};
  if (verified) out["different"] = counts.different;
  if (!counts.examples.empty()) out["examples"] = boost::json::value_from(counts.examples);
  return out;
}

void print(const CopyCounts& counts, bool verified) {
  std::puts(fmt::format("{} records: {} written, {} there already{}", counts.read, counts.written,
                        counts.present,
                        counts.gone ? fmt::format(", {} over meanwhile", counts.gone) : std::string())
                .c_str());
  if (counts.marks)
    std::puts(fmt::format("{} marks with an end to come: {} had not come with their records", counts.marks,
                          counts.marks_written)
                  .c_str());
  if (counts.held)
    std::puts(
        fmt::format("{} are held by a lease that lasts. If their owners still work on FROM, stop or drain "
                    "them and copy again; without an owner they become unknown when the lease ends.",
                    counts.held)
            .c_str());
  if (verified)
    std::puts(counts.different ? fmt::format("{} DIFFER", counts.different).c_str() : "compared: the same");
  if (counts.unreadable)
    std::puts(fmt::format("{} CANNOT BE READ and were not copied", counts.unreadable).c_str());
  for (const std::string& id : counts.examples) std::puts(("  " + id).c_str());
}

int run_copy(const CopyOptions& options) {
  if (options.from == options.to) return complain("FROM and TO are the same store", exit_usage);
  const SystemClock clock;
  const auto refuse = [](const char* which, const Error& error) {
    return complain(std::string(which) + ": " + error.message,
                    error.code == Errc::invalid ? exit_usage : exit_failed);
  };
  Result<OpenedStore> from = open_named(options.from, true, clock);
  if (!from) return refuse("FROM", from.error());
  Result<OpenedStore> to = open_named(options.to, false, clock);
  if (!to) return refuse("TO", to.error());
  CopyRun run(options, *from, *to);
  const Result<Done> done = run.run();
  const CopyCounts& counts = run.counts();
  if (options.json) {
    boost::json::object out = as_json(counts, options.verify);
    out["done"] = done.has_value();
    std::puts(boost::json::serialize(out).c_str());
  } else {
    print(counts, options.verify && done);
  }
  if (!done) return complain(done.error().message + "; run it again to go on", exit_failed);
  return counts.unreadable + counts.different == 0 ? exit_done : exit_failed;
}

}  // namespace

Command store_copy_command() {
  auto options = std::make_shared<CopyOptions>();
  return {.name = "copy",
          .summary = "Copy every record of one store into another",
          .details =
              "For moving a service: stop or drain what uses FROM, copy, start again with TO. Records arrive "
              "as they\n"
              "are: state, epoch, owner, times, stored answer; and marks that have outlived theirs. What TO "
              "has already and\n"
              "is as late stays, so that running it again finishes an interrupted copy and brings only what "
              "has changed.\n\n"
              "Example:\n"
              "  onceward store copy file:./onceward-data postgres://app@db/app --verify",
          .options = {{.names = "FROM",
                       .help = "file:DIR, redis://… or postgres://…",
                       .target = &options->from,
                       .required = true},
                      {.names = "TO", .help = "The same", .target = &options->to, .required = true},
                      {.names = "--verify",
                       .help = "Read both again and compare every record",
                       .target = &options->verify},
                      {.names = "--json", .help = "One JSON object per line", .target = &options->json}},
          .run = [options] { return run_copy(*options); }};
}

}  // namespace onceward::cli
