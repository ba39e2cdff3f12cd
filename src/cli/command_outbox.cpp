// onceward outbox status|list|retry: the events that wait to be sent, through the API of a running Onceward.
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "base/system.hpp"
#include "base/time_text.hpp"
#include "cli/api_command.hpp"
#include "cli/record_table.hpp"

namespace onceward::cli {
namespace {

namespace json = boost::json;

constexpr ApiVoice voice{"outbox"};
constexpr std::size_t page_max = 1000;

struct OutboxOptions {
  ApiOptions api;
  bool json = false;
  bool set_aside = false;
  std::size_t limit = 100;
  std::vector<std::string> ids;
  bool all = false;
  std::string reason;
};

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (!value || value->is_null()) return {};
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
}

std::string age_of(const json::object& object, std::string_view name) {
  const auto at = time_from_text(text_of(object, name));
  return at ? age_text(SystemClock().now() - *at) : "";
}

int status(ApiClient& client, const OutboxOptions& options) {
  const Result<ApiAnswer> answer = client.get("/v1/outbox");
  if (!answer) return voice.fail(answer.error());
  if (answer->status != 200) return voice.refused(*answer, options.json);
  if (options.json) {
    print_line(answer->body);
    return exit_done;
  }
  const json::object& counts = answer->body.as_object();
  const std::string age = age_of(counts, "oldest_pending");
  std::fputs(as_table({{"pending", text_of(counts, "pending")},
                       {"set aside", text_of(counts, "set_aside")},
                       {"oldest pending", age.empty() ? "-" : age}})
                 .c_str(),
             stdout);
  return exit_done;
}

int list(ApiClient& client, const OutboxOptions& options) {
  std::vector<Row> rows = {{"EVENT", "STATE", "ATTEMPTS", "SINCE", "LAST ERROR"}};
  std::string cursor;
  std::size_t left = options.limit;
  do {
    std::string target = "/v1/outbox/events?limit=" + std::to_string(std::min(left, page_max));
    if (options.set_aside) target += "&state=set_aside";
    if (!cursor.empty()) target += "&cursor=" + percent_encoded(cursor);
    const Result<ApiAnswer> answer = client.get(target);
    if (!answer) return voice.fail(answer.error());
    if (answer->status != 200) return voice.refused(*answer, options.json);
    for (const json::value& value : answer->body.at("events").as_array()) {
      const json::object& event = value.as_object();
      if (options.json) print_line(value);
      rows.push_back({text_of(event, "id"), text_of(event, "state"), text_of(event, "attempts"),
                      age_of(event, "created_at"), text_of(event, "last_error")});
      --left;
    }
    const json::value& next = answer->body.at("cursor");
    cursor = next.is_string() ? std::string(next.as_string()) : std::string();
  } while (!cursor.empty() && left > 0);
  if (!options.json) std::fputs(as_table(rows).c_str(), stdout);
  return exit_done;
}

int retry(ApiClient& client, const OutboxOptions& options) {
  if (options.all == !options.ids.empty())
    return voice.complain("give the ids of events, or --all", exit_usage);
  json::object body;
  if (options.all) body["all"] = true;
  if (!options.ids.empty()) body["ids"] = json::array(options.ids.begin(), options.ids.end());
  if (!options.reason.empty()) body["reason"] = options.reason;
  const Result<ApiAnswer> answer = client.post("/v1/outbox/retry", body);
  if (!answer) return voice.fail(answer.error());
  if (answer->status != 200) return voice.refused(*answer, options.json);
  if (options.json) {
    print_line(answer->body);
  } else {
    std::printf("%s events are due again\n", text_of(answer->body.as_object(), "retried").c_str());
  }
  return exit_done;
}

Command subcommand(const char* name, const char* summary, int (*run)(ApiClient&, const OutboxOptions&),
                   std::vector<Option> (*describe)(OutboxOptions&)) {
  auto options = std::make_shared<OutboxOptions>();
  std::vector<Option> all = describe(*options);
  for (Option& option : api_options(options->api, options->json)) all.push_back(std::move(option));
  return {.name = name, .summary = summary, .options = std::move(all), .run = [options, run] {
            return voice.with_client(options->api, [&](ApiClient& client) { return run(client, *options); });
          }};
}

}  // namespace

Command outbox_command() {
  const auto none = [](OutboxOptions&) { return std::vector<Option>(); };
  const auto listed = [](OutboxOptions& o) -> std::vector<Option> {
    return {{.names = "--set-aside", .help = "Only those that were given up", .target = &o.set_aside},
            {.names = "--limit", .help = "At most so many", .target = &o.limit, .value_name = "N"}};
  };
  const auto retried = [](OutboxOptions& o) -> std::vector<Option> {
    return {{.names = "ID", .help = "Ids of events that were set aside", .target = &o.ids},
            {.names = "--all", .help = "All that were set aside", .target = &o.all},
            {.names = "--reason",
             .help = "Why; kept in the audit trail",
             .target = &o.reason,
             .value_name = "TEXT"}};
  };
  return {.name = "outbox",
          .summary = "Look at the events that wait to be sent, and send those that were given up",
          .details =
              "Asks the API of a running Onceward: the one that --config describes, or --api URL with\n"
              "--token-file FILE or ONCEWARD_TOKEN.\n\n"
              "Examples:\n"
              "  onceward outbox status --config onceward.yaml\n"
              "  onceward outbox retry --all --reason 'the receiver is repaired'",
          .commands = {subcommand("status", "Count them", status, none),
                       subcommand("list", "List them, without their payloads", list, listed),
                       subcommand("retry", "Send what was set aside after all", retry, retried)}};
}

}  // namespace onceward::cli
