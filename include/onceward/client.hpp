// The client: one key per intent, kept before the first byte is sent and used for every attempt, also after
// a restart. An Intent is what somebody wants to happen once; its key cannot be changed, and a request that
// differs from the one it was begun with is refused here, before anything is sent.
//
//   auto intents = onceward::client::IntentStore::in_folder("/var/lib/shop/intents");
//   onceward::client::Client client;
//   auto intent = (*intents)->open("charge-order-17");
//   auto result = client.send(*intent, {.url = "http://127.0.0.1:8080/payments", .body = "…"});
//
// C++20; no coroutines and no Boost in these signatures. All types may be moved between threads; one Intent
// is used by one thread at a time, a Client and an IntentStore by any number.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onceward/result.hpp"

namespace onceward::client {

using Header = std::pair<std::string, std::string>;

struct Request {
  std::string method = "POST";
  std::string url;  // http:// or https://, with path and query
  std::vector<Header> headers = {};
  std::string body = {};
};

struct Answer {
  int status = 0;
  std::vector<Header> headers = {};  // in their order, repetitions kept
  std::string body = {};
  bool body_cut = false;  // longer than ClientOptions::max_response_bytes: the rest was not kept

  std::string_view header(std::string_view name) const;  // the first of that name, "" when there is none
};

enum class Ending : std::uint8_t {
  succeeded,  // an answer below 400
  failed,     // definite: the server said no, or provably nothing has happened
  unknown,    // it may or may not have happened: ask the service before trying with another key
};

struct Outcome {
  Ending ending = Ending::unknown;
  // No later attempt with this key can change it. Otherwise sending the same intent again goes on.
  bool final = false;
  bool from_intent = false;  // nothing was sent: an earlier send had ended already
  Answer answer = {};        // the last one; status 0 when there was none
  std::string reason = {};   // for people: why it ended like this
  std::string operation_id = {};
  std::size_t attempts = 0;  // requests that were tried by this send
};

// The key of a new intent.
class NewKey {
 public:
  static NewKey random();  // UUIDv7
  // The same fields give the same key everywhere: {"order-17", "user-3", "charge"}. Fields are hashed with
  // their lengths, so ("ab", "c") and ("a", "bc") are two keys.
  static NewKey derived(const std::vector<std::string>& fields);
  // A key made elsewhere: 1 to 255 visible ASCII characters.
  static Result<NewKey> given(std::string_view key);

  const std::string& text() const { return text_; }

 private:
  explicit NewKey(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

namespace detail {
struct IntentState;
}

// What somebody wants to happen once. Made by an IntentStore only; while it lives, nobody else can open the
// same intent of that store (of the same folder, in any process).
class Intent {
 public:
  Intent(Intent&&) noexcept;
  Intent& operator=(Intent&&) noexcept;
  ~Intent();

  const std::string& name() const;
  const std::string& key() const;
  bool in_doubt() const;       // something was sent under this key and no answer has settled it
  const Outcome* end() const;  // how it ended for good; null while it has not

 private:
  explicit Intent(std::unique_ptr<detail::IntentState> state);
  std::unique_ptr<detail::IntentState> state_;
  friend struct detail::IntentState;
};

class IntentStore {
 public:
  // Gone with the process: safe retries, but nothing after a crash.
  static std::shared_ptr<IntentStore> in_memory();
  // One small file per intent, synced before anything is sent; readable by its owner only. The folder is
  // made if it is not there.
  static Result<std::shared_ptr<IntentStore>> in_folder(const std::string& folder);

  virtual ~IntentStore();

  // The intent of that name as it was left, or a new one with that key. Errc::conflict: somebody has it
  // open. Errc::unreadable: its file is damaged.
  virtual Result<Intent> open(std::string_view name, const NewKey& key_if_new) = 0;
  Result<Intent> open(std::string_view name) { return open(name, NewKey::random()); }
  // Begins again under another key: a new intent that happens to have the name of an old one. Refused
  // (Errc::conflict) while the old one is in doubt, unless `although_in_doubt`.
  virtual Result<Intent> begin_anew(std::string_view name, const NewKey& key, bool although_in_doubt) = 0;
  // Forgets an intent; what it was for can then happen again.
  virtual Result<Done> forget(Intent intent) = 0;
};

struct RetryPolicy {
  std::size_t attempts = 5;  // of one send; waiting for a request that is still running costs none
  std::chrono::milliseconds first_delay{200};  // doubles each time; the pause is a random part of it
  std::chrono::milliseconds max_delay{10'000};
  std::chrono::milliseconds deadline{60'000};  // of one send, everything included
  std::chrono::milliseconds attempt_timeout{30'000};
};

struct ClientOptions {
  RetryPolicy retry = {};
  // Over all intents of this client: each first attempt earns `budget_ratio`, each retry costs 1, at most
  // `budget_max` are saved up. A client that only retries makes an outage worse.
  double budget_ratio = 0.2;
  double budget_max = 20;
  // Per origin: after so many failures in a row nothing is sent for `breaker_pause`, then one request tries.
  std::size_t breaker_failures = 10;
  std::chrono::milliseconds breaker_pause{5'000};
  std::chrono::milliseconds connect_timeout{2'000};
  std::size_t max_response_bytes = std::size_t{16} << 20;
  std::string key_header = "Idempotency-Key";
  bool quote_key = true;  // "key" (a structured-field String) or key
  // Part of who asks, as most servers see it: in doubt, another value of these is refused.
  std::vector<std::string> identity_headers = {"Authorization", "X-Tenant-ID"};
  std::string ca_file = {};  // PEM; empty: the system's
  bool verify_tls = true;
  // Called on the client's thread before each pause, for people who watch.
  std::function<void(std::string_view why, std::chrono::milliseconds pause)> on_retry = {};
};

class Client {
 public:
  explicit Client(ClientOptions options = {});
  ~Client();  // sends that run are cancelled and waited for
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends until there is an answer that settles it, or the policy or the token says stop. An Error means that
  // nothing was sent: a malformed request, another request than the intent's own, an intent that cannot be
  // kept. Must not be called from a callback.
  Result<Outcome> send(Intent& intent, const Request& request, std::stop_token stop = {});

  // The same without blocking. The callback runs on the client's thread, also for errors; intent and client
  // must live until then.
  using Callback = std::function<void(Result<Outcome>)>;
  void send_async(Intent& intent, Request request, Callback callback, std::stop_token stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace onceward::client
