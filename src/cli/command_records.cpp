// onceward records list|show|resolve|release|purge|audit: the operators' view, through the API of a running
// Onceward.
#include <functional>
#include <memory>

#include "cli/api_command.hpp"
#include "cli/commands.hpp"
#include "cli/records_actions.hpp"

namespace onceward::cli {
namespace {

int list_or_watch(const RecordsOptions& options) {
  return options.watch ? watch_records(options) : list_records(options);
}

Option id_option(RecordsOptions& o, bool required) {
  return {.names = "ID", .help = "The operation's id", .target = &o.id, .required = required};
}
Option reason_option(RecordsOptions& o, bool required) {
  return {.names = "--reason",
          .help = "Why; kept in the audit trail",
          .target = &o.reason,
          .value_name = "TEXT",
          .required = required};
}
Option epoch_option(RecordsOptions& o) {
  return {.names = "--epoch",
          .help = "The epoch you looked at; a record that has changed refuses",
          .target = &o.epoch,
          .value_name = "N",
          .required = true};
}
Option limit_option(RecordsOptions& o) {
  return {.names = "--limit", .help = "At most so many", .target = &o.limit, .value_name = "N"};
}
std::vector<Option> filter_options(RecordsOptions& o) {
  return {{.names = "--tenant", .help = "Only of this tenant", .target = &o.tenant, .value_name = "NAME"},
          {.names = "--operation",
           .help = "Only of this operation",
           .target = &o.operation,
           .value_name = "NAME"}};
}

Command subcommand(const char* name, const char* summary, int (*run)(const RecordsOptions&),
                   const std::function<std::vector<Option>(RecordsOptions&)>& describe) {
  auto options = std::make_shared<RecordsOptions>();
  std::vector<Option> all = describe(*options);
  for (Option& option : api_options(options->api, options->json)) all.push_back(std::move(option));
  return {.name = name, .summary = summary, .options = std::move(all), .run = [options, run] {
            return run(*options);
          }};
}

}  // namespace

Command records_command() {
  const auto list = [](RecordsOptions& o) {
    std::vector<Option> options = filter_options(o);
    options.push_back(
        {.names = "--state",
         .help = "Only in this state",
         .target = &o.state,
         .value_name = "STATE",
         .choices = {"claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"}});
    options.push_back({.names = "--reference",
                       .help = "Only with this business reference",
                       .target = &o.reference,
                       .value_name = "TEXT"});
    options.push_back({.names = "--older-than",
                       .help = "Only what has not changed for so long: 30s 10m 24h 7d",
                       .target = &o.older_than,
                       .value_name = "TIME"});
    options.push_back(limit_option(o));
    options.push_back({.names = "--all", .help = "All of them", .target = &o.all});
    options.push_back({.names = "--watch", .help = "Look again every two seconds", .target = &o.watch});
    return options;
  };
  const auto show = [](RecordsOptions& o) -> std::vector<Option> {
    return {id_option(o, true),
            {.names = "--reveal", .help = "With the stored answer (role operate)", .target = &o.reveal}};
  };
  const auto resolve_options = [](RecordsOptions& o) -> std::vector<Option> {
    return {id_option(o, true),
            {.names = "--as",
             .help = "What became of it",
             .target = &o.as,
             .value_name = "STATE",
             .choices = {"succeeded", "failed"},
             .required = true},
            epoch_option(o),
            reason_option(o, true),
            {.names = "--response",
             .help = "The answer for retries: {status, headers, body or json}",
             .target = &o.response_file,
             .value_name = "FILE",
             .is_file = true}};
  };
  const auto release = [](RecordsOptions& o) -> std::vector<Option> {
    return {
        id_option(o, true),
        epoch_option(o),
        reason_option(o, true),
        {.names = "--force", .help = "Release although it may cause a second effect", .target = &o.force}};
  };
  const auto purge = [](RecordsOptions& o) {
    std::vector<Option> options = filter_options(o);
    options.push_back({.names = "--before",
                       .help = "Only what has not changed since: a time, or an age such as 24h",
                       .target = &o.before,
                       .value_name = "TIME"});
    options.push_back({.names = "--all", .help = "Every final record", .target = &o.all});
    options.push_back(reason_option(o, false));
    return options;
  };
  const auto audit = [](RecordsOptions& o) -> std::vector<Option> {
    return {id_option(o, false), limit_option(o)};
  };
  return {
      .name = "records",
      .summary = "Look at records and decide what became of them",
      .details =
          "Asks the API of a running Onceward: the one that --config describes, or --api URL with\n"
          "--token-file FILE or ONCEWARD_TOKEN.\n\n"
          "Examples:\n"
          "  onceward records list --config onceward.yaml --state unknown\n"
          "  onceward records resolve ID --as succeeded --epoch 1 --reason 'found it at the bank'",
      .commands = {
          subcommand("list", "List records", list_or_watch, list),
          subcommand("show", "Show one record", show_record, show),
          subcommand("resolve", "Say that it succeeded or failed", resolve_record, resolve_options),
          subcommand("release", "Let a key run again; may cause a second effect", release_record, release),
          subcommand("purge", "Remove final records", purge_records, purge),
          subcommand("audit", "Who changed what, newest first", list_audit, audit)}};
}

}  // namespace onceward::cli
