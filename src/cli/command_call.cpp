// onceward call: like curl, with one durable key per intent and safe retries.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli/call_report.hpp"
#include "cli/cancel_on_signal.hpp"
#include "cli/commands.hpp"
#include "cli/request_arguments.hpp"

namespace onceward::cli {
namespace {

using client::Ending;
using client::Intent;
using client::IntentStore;
using client::NewKey;
using client::Outcome;

struct CallArguments {
  RequestArguments request;
  std::string intent;
  std::string key;
  std::string folder;
  std::size_t attempts = 5;
  std::string deadline = "60s";
  std::string timeout = "30s";
  TrustArguments trust;
  bool bare_key = false;
  bool anew = false;
  bool although_in_doubt = false;
  bool include = false;
  bool json = false;
};

int fail(const std::string& message, int code) {
  std::fprintf(stderr, "onceward call: %s\n", message.c_str());
  return code;
}

std::string default_folder() {
  const auto from = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string own = from("ONCEWARD_INTENTS"); !own.empty()) return own;
  if (const std::string state = from("XDG_STATE_HOME"); !state.empty()) return state + "/onceward/intents";
  const std::string home = from("HOME");
  return home.empty() ? std::string() : home + "/.local/state/onceward/intents";
}

Result<client::ClientOptions> make_options(const CallArguments& a) {
  client::ClientOptions options;
  const Result<Duration> deadline = parse_duration("--deadline", a.deadline);
  if (!deadline) return deadline.error();
  const Result<Duration> timeout = parse_duration("--timeout", a.timeout);
  if (!timeout) return timeout.error();
  if (a.attempts == 0) return Error{Errc::invalid, "--attempts: at least 1"};
  options.retry.attempts = a.attempts;
  options.retry.deadline = *deadline;
  options.retry.attempt_timeout = *timeout;
  options.quote_key = !a.bare_key;
  options.ca_file = a.trust.ca_file;
  options.verify_tls = !a.trust.insecure;
  // Both are for programs that send many intents; here is one, and its owner has said how often to try.
  options.budget_max = static_cast<double>(a.attempts);
  options.breaker_failures = a.attempts + 1;
  if (::isatty(STDERR_FILENO) == 1) {
    options.on_retry = [](std::string_view why, std::chrono::milliseconds pause) {
      std::fprintf(stderr, "onceward call: %.*s; the same key again in %.1f s\n",
                   static_cast<int>(why.size()), why.data(), static_cast<double>(pause.count()) / 1000);
    };
  }
  return options;
}

Result<Intent> open_intent(IntentStore& store, const CallArguments& a) {
  Result<NewKey> key = a.key.empty() ? Result<NewKey>(NewKey::random()) : NewKey::given(a.key);
  if (!key) return key.error();
  const std::string& name = !a.intent.empty() ? a.intent : key->text();
  if (a.anew) return store.begin_anew(name, *key, a.although_in_doubt);
  Result<Intent> intent = store.open(name, *key);
  if (intent && !a.key.empty() && intent->key() != a.key)
    return Error{Errc::invalid, "intent '" + name + "' has another key; --new begins anew with this one"};
  return intent;
}

void print(const CallArguments& a, const Intent& intent, const Outcome& outcome) {
  if (a.json) {
    std::puts(call_json(intent, outcome).c_str());
  } else {
    if (a.include && outcome.answer.status != 0) std::fputs(answer_head(outcome.answer).c_str(), stdout);
    std::fwrite(outcome.answer.body.data(), 1, outcome.answer.body.size(), stdout);
  }
  std::fflush(stdout);
  if (outcome.answer.body_cut) std::fprintf(stderr, "onceward call: the body is longer and was cut\n");
  if (outcome.ending == Ending::succeeded) return;
  const bool unknown = outcome.ending == Ending::unknown;
  std::fprintf(stderr, "onceward call: %s: %s\n", unknown ? "unknown outcome" : "failed",
               outcome.reason.c_str());
  if (unknown) {
    std::fprintf(
        stderr,
        "onceward call: it may have happened. The same again with --intent '%s' asks what became of it\n",
        intent.name().c_str());
  } else if (outcome.from_intent) {
    std::fprintf(stderr, "onceward call: intent '%s' had ended so before; --new begins anew\n",
                 intent.name().c_str());
  }
}

// Nobody can name an intent that got no name, so it is kept only while somebody must come back to it.
void tidy(IntentStore& store, const CallArguments& a, Intent intent) {
  const bool named = !a.intent.empty() || !a.key.empty();
  if (!named && !intent.in_doubt()) (void)store.forget(std::move(intent));
}

int run_call(const CallArguments& a) {
  const CancelOnSignal cancel;
  const Result<client::Request> request = make_request(a.request);
  if (!request) return fail(request.error().message, exit_usage);
  Result<client::ClientOptions> options = make_options(a);
  if (!options) return fail(options.error().message, exit_usage);
  const std::string folder = a.folder.empty() ? default_folder() : a.folder;
  if (folder.empty())
    return fail("no folder for intents: set HOME, ONCEWARD_INTENTS or --intents", exit_usage);
  Result<std::shared_ptr<IntentStore>> store = IntentStore::in_folder(folder);
  if (!store) return fail(store.error().message, exit_usage);
  Result<Intent> intent = open_intent(**store, a);
  // Somebody else is sending it, or its file is damaged: whether it happened cannot be said here.
  if (!intent)
    return fail(intent.error().message, intent.error().code == Errc::invalid ? exit_usage : exit_unknown);
  client::Client client(std::move(*options));
  const Result<Outcome> outcome = client.send(*intent, *request, cancel.token());
  if (!outcome) {
    const int code = intent->in_doubt() ? exit_unknown : exit_failed;
    tidy(**store, a, std::move(*intent));
    return fail(outcome.error().message, outcome.error().code == Errc::invalid ? exit_usage : code);
  }
  print(a, *intent, *outcome);
  tidy(**store, a, std::move(*intent));
  return call_exit_code(outcome->ending);
}

constexpr const char* details =
    "Every attempt of an intent carries the same Idempotency-Key, also after a crash or a reboot: the key is "
    "on\n"
    "disk before the first byte is sent. Running the same intent again goes on where it was left; one that "
    "has\n"
    "ended shows its outcome again without sending anything.\n\n"
    "Exit codes: 0 an answer below 400, 1 definitely failed, 2 wrong usage (nothing was sent), 3 unknown: it "
    "may\n"
    "or may not have happened.\n\n"
    "Examples:\n"
    "  onceward call -d '{\"amount\":12.50}' --intent invoice-2041 http://127.0.0.1:8080/payments\n"
    "  onceward call -X DELETE --intent drop-17 --deadline 5m http://127.0.0.1:8080/orders/17";

}  // namespace

Command call_command() {
  auto a = std::make_shared<CallArguments>();
  std::vector<Option> options = request_options(a->request);
  const std::vector<Option> own = {
      {.names = "--intent",
       .help = "What is wanted, by a name of your choice; the same name is the same key",
       .target = &a->intent,
       .value_name = "NAME"},
      {.names = "--key", .help = "The key, instead of a new one", .target = &a->key, .value_name = "KEY"},
      {.names = "--new", .help = "Begin the intent anew, under a new key", .target = &a->anew},
      {.names = "--although-in-doubt",
       .help = "With --new: even if it may have happened",
       .target = &a->although_in_doubt},
      {.names = "--attempts", .help = "How often to try (5)", .target = &a->attempts, .value_name = "N"},
      {.names = "--deadline",
       .help = "For everything together (60s)",
       .target = &a->deadline,
       .value_name = "TIME"},
      {.names = "--timeout", .help = "For one attempt (30s)", .target = &a->timeout, .value_name = "TIME"},
      {.names = "--intents",
       .help = "Where intents are kept; also ONCEWARD_INTENTS (~/.local/state/onceward/intents)",
       .target = &a->folder,
       .value_name = "DIR",
       .is_file = true},
      {.names = "--bare-key", .help = "Send the key without quotes", .target = &a->bare_key},
      {.names = "-i,--include", .help = "Print status and headers too", .target = &a->include},
      {.names = "--json", .help = "Print one JSON object", .target = &a->json}};
  for (const std::vector<Option>& more : {own, trust_options(a->trust)})
    options.insert(options.end(), more.begin(), more.end());
  return {.name = "call",
          .summary = "Send a request once, however often it takes",
          .details = details,
          .options = std::move(options),
          .run = [a] { return run_call(*a); }};
}

}  // namespace onceward::cli
