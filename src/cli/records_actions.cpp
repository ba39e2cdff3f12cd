#include "cli/records_actions.hpp"

#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "base/system.hpp"
#include "cli/api_command.hpp"
#include "cli/commands.hpp"
#include "cli/record_table.hpp"

namespace onceward::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t page_max = 1000;
constexpr timespec watch_interval{.tv_sec = 2, .tv_nsec = 0};

constexpr ApiVoice voice{"records"};

int complain(const std::string& what, int code) { return voice.complain(what, code); }
int fail(const Error& error) { return voice.fail(error); }
int refused(const ApiAnswer& answer, bool as_json) { return voice.refused(answer, as_json); }

using Run = int (*)(ApiClient&, const RecordsOptions&);

int with_client(const RecordsOptions& options, Run run) {
  return voice.with_client(options.api, [&](ApiClient& client) { return run(client, options); });
}

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
  return signals;
}

std::string list_target(const RecordsOptions& options, std::size_t limit, const std::string& cursor) {
  std::string target = "/v1/records?limit=" + std::to_string(limit);
  const auto add = [&](const char* name, const std::optional<std::string>& value) {
    if (value) target += std::string("&") + name + "=" + percent_encoded(*value);
  };
  add("state", options.state);
  add("operation", options.operation);
  add("tenant", options.tenant);
  add("reference", options.reference);
  add("older_than", options.older_than);
  if (!cursor.empty()) add("cursor", cursor);
  return target;
}

struct Listed {
  json::array records;
  bool more = false;
  int code = exit_done;  // not done: it has been told
};

Listed fetch(ApiClient& client, const RecordsOptions& options) {
  Listed listed;
  const std::size_t wanted = options.all ? SIZE_MAX : options.limit;
  std::string cursor;
  do {
    const std::size_t limit = std::min(page_max, wanted - listed.records.size());
    const Result<ApiAnswer> answer = client.get(list_target(options, limit, cursor));
    if (!answer || answer->status != 200) {
      listed.code = answer ? refused(*answer, options.json) : fail(answer.error());
      return listed;
    }
    const json::object& page = answer->body.as_object();
    for (const json::value& record : page.at("records").as_array()) listed.records.push_back(record);
    const json::value& next = page.at("cursor");
    cursor = next.is_string() ? std::string(next.as_string()) : std::string();
  } while (!cursor.empty() && listed.records.size() < wanted);
  listed.more = !cursor.empty();
  return listed;
}

void print_records(const Listed& listed) {
  std::vector<Row> rows = {record_header()};
  const Timestamp now = SystemClock().now();
  for (const json::value& record : listed.records) rows.push_back(record_row(record.as_object(), now));
  std::fputs(as_table(rows).c_str(), stdout);
  if (listed.more) std::puts("… and more: --limit N or --all");
}

int run_list(ApiClient& client, const RecordsOptions& options) {
  const Listed listed = fetch(client, options);
  if (listed.code != exit_done) return listed.code;
  if (!options.json) {
    print_records(listed);
    return exit_done;
  }
  for (const json::value& record : listed.records) print_line(record);
  return exit_done;
}

// As JSON only what is new or has changed is printed; for people the whole table, again and again.
int run_watch(ApiClient& client, const RecordsOptions& options) {
  const sigset_t signals = stop_signals();
  std::map<std::string, std::string> seen;
  const bool on_terminal = ::isatty(STDOUT_FILENO) == 1;
  do {
    const Listed listed = fetch(client, options);
    if (listed.code != exit_done) return listed.code;
    if (!options.json) {
      std::fputs(on_terminal ? "\x1b[H\x1b[2J" : "", stdout);
      print_records(listed);
      if (!on_terminal) std::puts("");
    }
    std::map<std::string, std::string> now;
    for (const json::value& record : listed.records) {
      const std::string id(record.at("operation_id").as_string());
      const std::string text = json::serialize(record);
      if (options.json && seen[id] != text) std::printf("%s\n", text.c_str());
      now[id] = text;
    }
    seen = std::move(now);
    if (std::fflush(stdout) != 0) return exit_failed;  // nobody reads any more
  } while (::sigtimedwait(&signals, nullptr, &watch_interval) < 0);
  return exit_done;
}

int run_show(ApiClient& client, const RecordsOptions& options) {
  const Result<ApiAnswer> answer =
      client.get("/v1/records/" + percent_encoded(options.id) + (options.reveal ? "?reveal=true" : ""));
  if (!answer) return fail(answer.error());
  if (answer->status != 200) return refused(*answer, options.json);
  if (options.json) {
    print_line(answer->body);
  } else {
    std::fputs(record_details(answer->body.as_object()).c_str(), stdout);
  }
  return exit_done;
}

int resolve(ApiClient& client, const RecordsOptions& options, const std::string& as) {
  std::uint64_t epoch = 0;
  const char* end = options.epoch.data() + options.epoch.size();
  if (std::from_chars(options.epoch.data(), end, epoch).ptr != end || epoch == 0)
    return complain("--epoch: give the epoch that `records show` names", exit_usage);
  json::object body{{"as", as}, {"epoch", epoch}, {"reason", options.reason}};
  if (!options.response_file.empty()) {
    std::ifstream in(options.response_file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    boost::system::error_code error;
    body["response"] = json::parse(text, error);
    if (!in.is_open() || error) return complain(options.response_file + ": is not a JSON file", exit_usage);
  }
  const Result<ApiAnswer> answer =
      client.post("/v1/records/" + percent_encoded(options.id) + "/resolve", body);
  if (!answer)
    return complain(answer.error().message + "; look at the record before trying again", exit_failed);
  if (answer->status != 200) return refused(*answer, options.json);
  if (options.json) {
    print_line(answer->body);
  } else {
    std::printf("%s is %s now, as epoch %llu\n", options.id.c_str(), as.c_str(),
                static_cast<unsigned long long>(epoch));
  }
  return exit_done;
}

int run_resolve(ApiClient& client, const RecordsOptions& options) {
  return resolve(client, options, options.as);
}

int run_release(ApiClient& client, const RecordsOptions& options) {
  std::fputs(
      "WARNING: a released key may run again. If the request did take effect, the next retry is a second\n"
      "effect: a second charge, a second order. Release only what provably never happened; otherwise\n"
      "resolve it as succeeded or failed.\n",
      stderr);
  if (!options.force) return complain("not released: say --force to release it all the same", exit_usage);
  return resolve(client, options, "released");
}

double records_in_all(ApiClient& client) {
  const Result<ApiAnswer> answer = client.get("/v1/stats");
  if (!answer || answer->status != 200) return 0;
  return answer->body.at("records").to_number<double>();
}

int run_purge(ApiClient& client, const RecordsOptions& options) {
  if (!options.tenant && !options.operation && !options.before && !options.all)
    return complain("say what to purge: --tenant, --operation, --before, or --all", exit_usage);
  json::object body;
  if (options.tenant) body["tenant"] = *options.tenant;
  if (options.operation) body["operation"] = *options.operation;
  if (options.before) body["before"] = *options.before;
  if (!options.reason.empty()) body["reason"] = options.reason;
  const bool draws = ::isatty(STDERR_FILENO) == 1 && !options.json;
  const double all = draws ? records_in_all(client) : 0;
  double looked_at = 0;
  std::uint64_t removed = 0;
  do {
    const Result<ApiAnswer> answer = client.post("/v1/purge", body);
    if (!answer || answer->status != 200) {
      if (draws) std::fputs("\n", stderr);
      return answer ? refused(*answer, options.json) : fail(answer.error());
    }
    const json::object& step = answer->body.as_object();
    removed += step.at("removed").to_number<std::uint64_t>();
    looked_at += step.at("looked_at").to_number<double>();
    body["cursor"] = step.at("cursor");
    const bool done = body["cursor"].is_null();
    if (options.json) print_line(json::object{{"removed", removed}, {"done", done}});
    if (draws) std::fprintf(stderr, "\r%s", progress_bar(done ? 1 : looked_at / (all + 1)).c_str());
  } while (!body["cursor"].is_null());
  if (draws) std::fputs("\n", stderr);
  if (!options.json) std::printf("%llu records removed\n", static_cast<unsigned long long>(removed));
  return exit_done;
}

int run_audit(ApiClient& client, const RecordsOptions& options) {
  std::vector<Row> rows = {audit_header()};
  std::string cursor;
  std::size_t left = options.limit;
  do {
    std::string target = "/v1/audit?limit=" + std::to_string(std::min(left, page_max));
    if (!options.id.empty()) target += "&operation_id=" + percent_encoded(options.id);
    if (!cursor.empty()) target += "&cursor=" + percent_encoded(cursor);
    const Result<ApiAnswer> answer = client.get(target);
    if (!answer) return fail(answer.error());
    if (answer->status != 200) return refused(*answer, options.json);
    for (const json::value& entry : answer->body.at("entries").as_array()) {
      if (options.json) print_line(entry);
      rows.push_back(audit_row(entry.as_object()));
      --left;
    }
    const json::value& next = answer->body.at("cursor");
    cursor = next.is_string() ? std::string(next.as_string()) : std::string();
  } while (!cursor.empty() && left > 0);
  if (!options.json) std::fputs(as_table(rows).c_str(), stdout);
  return exit_done;
}

}  // namespace

int list_records(const RecordsOptions& options) { return with_client(options, run_list); }
int show_record(const RecordsOptions& options) { return with_client(options, run_show); }
int resolve_record(const RecordsOptions& options) { return with_client(options, run_resolve); }
int release_record(const RecordsOptions& options) { return with_client(options, run_release); }
int purge_records(const RecordsOptions& options) { return with_client(options, run_purge); }
int list_audit(const RecordsOptions& options) { return with_client(options, run_audit); }

int watch_records(const RecordsOptions& options) {
  // Before the client's thread exists, so that the signals wait for this one.
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return with_client(options, run_watch);
}

}  // namespace onceward::cli
