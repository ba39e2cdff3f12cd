#include <onceward/client.hpp>

#include "check.hpp"

namespace client = onceward::client;

// Nobody listens there: provably nothing has happened, and the intent keeps its key for the next attempt.
void uses_client() {
  const std::shared_ptr<client::IntentStore> intents = client::IntentStore::in_memory();
  onceward::Result<client::Intent> intent = intents->open("order-1", client::NewKey::derived({"order", "1"}));
  CHECK(intent);
  const std::string key(intent->key());
  CHECK(!key.empty());
  client::ClientOptions options;
  options.retry.attempts = 1;
  client::Client sender(options);
  client::Request request;
  request.url = "http://127.0.0.1:1/orders";
  request.body = "{}";
  const onceward::Result<client::Outcome> outcome = sender.send(*intent, request);
  CHECK(outcome);
  CHECK(outcome->ending == client::Ending::failed);
  CHECK(key == intent->key());
}
