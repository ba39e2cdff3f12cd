// onceward store inspect|verify|stats DIR: looks into an embedded store's folder, also while it is in use,
// and changes nothing. onceward store migrate URL: prepares a database. (store copy: command_store_copy.cpp)
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "stores/embedded/inspect.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace onceward::cli {
namespace {

using embedded::FolderStats;
using embedded::SegmentReport;

struct StoreOptions {
  std::string folder;
  bool json = false;
};

constexpr State states[] = {State::claimed,  State::processing, State::succeeded, State::failed,
                            State::released, State::unknown,    State::expired};

int fail(const Error& error) {
  std::fprintf(stderr, "onceward store: %s\n", error.message.c_str());
  return error.code == Errc::refused ? exit_usage : exit_failed;
}

bool is_damaged(const SegmentReport& report) {
  return !report.lost.empty() || !report.damaged_at.empty() || report.index_damaged;
}

boost::json::object by_state(const std::array<std::uint64_t, 8>& counts) {
  boost::json::object object;
  for (const State state : states) {
    const std::uint64_t count = counts[static_cast<std::size_t>(state)];
    if (count > 0) object[std::string(to_string(state))] = count;
  }
  return object;
}

std::string as_json(const SegmentReport& report, bool verified) {
  boost::json::object object{{"segment", report.id},
                             {"file_bytes", report.file_bytes},
                             {"data_bytes", report.data_bytes},
                             {"sealed", report.sealed},
                             {"index_damaged", report.index_damaged},
                             {"entries", report.entries},
                             {"removals", report.removals}};
  if (verified) {
    object["states"] = by_state(report.by_state);
    if (report.marks > 0) object["marks"] = report.marks;
    if (report.events > 0) object["events"] = report.events;
    object["damaged_at"] = boost::json::value_from(report.damaged_at);
    object["unfinished_write"] = report.torn;
  }
  if (!report.lost.empty()) object["lost"] = report.lost;
  return boost::json::serialize(object);
}

std::string as_text(const SegmentReport& report) {
  std::string text = fmt::format("segment {:>6}  {:>11} bytes  {:>8} entries  {}", report.id,
                                 report.data_bytes, report.entries, report.sealed ? "sealed" : "active");
  if (report.torn) text += "  unfinished write at its end";
  if (report.index_damaged) text += "  INDEX DAMAGED (rebuilt when opened)";
  if (!report.lost.empty()) text += "  LOST: " + report.lost;
  for (const std::uint64_t at : report.damaged_at)
    text += fmt::format("\n  UNREADABLE RECORD at byte {}", at);
  return text;
}

int print_reports(const Result<std::vector<SegmentReport>>& reports, const StoreOptions& options,
                  bool verified) {
  if (!reports) return fail(reports.error());
  const bool json = options.json;
  const Result<bool> marker_damaged =
      embedded::has_damaged_marker(embedded::system_file_ops(), options.folder);
  if (!marker_damaged) return fail(marker_damaged.error());
  if (*marker_damaged)
    std::puts(json ? R"({"marker_damaged":true})"
                   : "MARKER DAMAGED: onceward.store (written again when opened)");
  std::uint64_t damaged = 0;
  for (const SegmentReport& report : *reports) {
    damaged += is_damaged(report);
    std::puts((json ? as_json(report, verified) : as_text(report)).c_str());
  }
  if (verified && !json) {
    const bool none = damaged == 0 && !*marker_damaged;
    std::puts(none ? "no damage found" : fmt::format("damage in {} segments", damaged).c_str());
  }
  return damaged == 0 && !*marker_damaged ? exit_done : exit_failed;
}

int run_inspect(const StoreOptions& options) {
  return print_reports(embedded::inspect_folder(embedded::system_file_ops(), options.folder), options, false);
}

int run_verify(const StoreOptions& options) {
  const bool on_terminal = ::isatty(STDERR_FILENO) == 1;
  const auto reports = embedded::verify_folder(
      embedded::system_file_ops(), options.folder, [&](std::uint64_t done, std::uint64_t all) {
        if (on_terminal)
          std::fprintf(stderr, "\r%3d %%", static_cast<int>(all == 0 ? 100 : done * 100 / all));
      });
  if (on_terminal) std::fprintf(stderr, "\r     \r");
  return print_reports(reports, options, true);
}

int run_stats(const StoreOptions& options) {
  const Result<FolderStats> stats = embedded::folder_stats(embedded::system_file_ops(), options.folder);
  if (!stats) return fail(stats.error());
  if (options.json) {
    boost::json::object object{{"records", stats->records},
                               {"segments", stats->segments},
                               {"bytes", stats->bytes},
                               {"unreadable", stats->damaged},
                               {"open", by_state(stats->open_by_state)}};
    if (stats->held_marks > 0) object["held_marks"] = stats->held_marks;
    if (stats->events > 0) object["events"] = stats->events;
    if (stats->written_at) object["last_write_ms"] = stats->written_at->time_since_epoch().count();
    std::puts(boost::json::serialize(object).c_str());
    return exit_done;
  }
  std::puts(fmt::format("records     {}\nsegments    {}\nbytes       {}\nunreadable  {}", stats->records,
                        stats->segments, stats->bytes, stats->damaged)
                .c_str());
  for (const State state : states) {
    const std::uint64_t count = stats->open_by_state[static_cast<std::size_t>(state)];
    if (count > 0) std::puts(fmt::format("{:<11} {}", to_string(state), count).c_str());
  }
  if (stats->held_marks > 0) std::puts(fmt::format("held marks  {}", stats->held_marks).c_str());
  if (stats->events > 0) std::puts(fmt::format("events      {}", stats->events).c_str());
  return exit_done;
}

Command subcommand(const char* name, const char* summary, int (*run)(const StoreOptions&)) {
  auto options = std::make_shared<StoreOptions>();
  return {.name = name,
          .summary = summary,
          .options = {{.names = "DIR",
                       .help = "The store's folder",
                       .target = &options->folder,
                       .required = true,
                       .is_file = true},
                      {.names = "--json", .help = "One JSON object per line", .target = &options->json}},
          .run = [options, run] { return run(*options); }};
}

int run_migrate(const std::string& url) {
  if (!url.starts_with("postgres://") && !url.starts_with("postgresql://")) {
    std::fprintf(stderr, "onceward store: only a postgres:// store has a schema to migrate\n");
    return exit_usage;
  }
  const Result<std::string> done = postgres::migrate_postgres(url);
  if (!done) {
    std::fprintf(stderr, "onceward store: %s\n", done.error().message.c_str());
    return done.error().code == Errc::invalid ? exit_usage : exit_failed;
  }
  std::puts(done->c_str());
  return exit_done;
}

Command migrate_command() {
  auto url = std::make_shared<std::string>();
  return {
      .name = "migrate",
      .summary = "Create or update the schema of a PostgreSQL store",
      .details = "Safe to repeat and to run on several machines at once. Refuses a schema that is too new.",
      .options = {{.names = "URL", .help = "postgres://…", .target = url.get(), .required = true}},
      .run = [url] { return run_migrate(*url); }};
}

}  // namespace

Command store_command() {
  return {
      .name = "store",
      .summary = "Look into the folder of an embedded store; prepare a database; move between stores",
      .details =
          "inspect, verify and stats change nothing and work while the store is in use. Exit code 1 when\n"
          "something is damaged, 2 when the folder is not a store.",
      .commands = {subcommand("inspect", "List the segments", run_inspect),
                   subcommand("verify", "Read and check every record", run_verify),
                   subcommand("stats", "Count records and what is open", run_stats), migrate_command(),
                   store_copy_command()}};
}

}  // namespace onceward::cli
