// Writes pairs into an embedded store and says on its standard output what was acknowledged, line by line;
// or checks that everything that was said is there. Every other pair has a mark and an event: a record must
// have its mark, and an outcome its event.
//
//   powercut_writer write DIR disk|process SESSION    "C <key>" claimed, "D <key>" completed
//   powercut_writer check DIR < lines                 exit 0: all there, 1: some lost, 2: cannot open
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/scope.hpp"
#include "onceward/outbox_store.hpp"
#include "stores/embedded/embedded_store.hpp"
#include "support/fakes.hpp"
#include "support/polling_executor.hpp"

namespace onceward {
namespace {

constexpr int in_flight = 8;
constexpr std::uint64_t segment_bytes = 256 << 10;  // small, so that cuts also fall on rolling and sealing

class SystemClock final : public Clock {
 public:
  Timestamp now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  MonoTime mono() const override {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now());
  }
};

using testing::BlockingExecutor;
using testing::PollingExecutor;

Scope scope_for(const std::string& key) { return scope_of("tenant", "caller", "powercut", key, ""); }

std::string body_for(const std::string& key) {
  const std::size_t hash = std::hash<std::string>{}(key);
  return key + std::string(20 + hash % 2000, static_cast<char>('a' + hash % 26));
}

bool is_marked(const std::string& key) { return key.back() % 2 == 0; }
Mark mark_for(const std::string& key) {
  return {MarkKind::unique, scope_of("tenant", "caller", "fact", key, ""), std::chrono::hours(48), true};
}
std::string event_id(const OperationId& id) { return to_string(id) + ":done"; }

void say(char what, const std::string& key) {
  const std::string line = std::string(1, what) + " " + key + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

template <class AnyExecutor>
void write_pairs(Store& store, const Clock& clock, const std::string& prefix) {
  AnyExecutor executor;
  for (std::uint64_t number = 0;; ++number) {
    const std::string key = prefix + std::to_string(number);
    ClaimRequest request;
    request.scope = scope_for(key);
    request.operation_id = make_operation_id(request.scope, clock.now(), 1);
    request.owner.data[0] = 1;
    RequestInfo info{"tenant", "powercut", "", {}};
    if (is_marked(key)) info.marks = {mark_for(key)};
    request.request = std::make_shared<const RequestInfo>(std::move(info));
    request.lease = std::chrono::seconds(30);
    request.max_hold = std::chrono::minutes(10);
    request.ttl = std::chrono::hours(24);
    const auto claimed =
        executor.template call<ClaimReply>([&](auto& reply) { return store.claim(request, reply); });
    if (!claimed || !claimed->granted) {
      // The image is full: there is nothing more to cut.
      std::fprintf(stderr, "claim: %s\n", claimed ? "refused" : claimed.error().message.c_str());
      return;
    }
    say('C', key);
    CompleteRequest completion;
    completion.fence = fence_of(claimed->record);
    completion.response = std::make_shared<const Response>(Response{200, false, "", body_for(key)});
    if (is_marked(key)) {
      completion.events = std::make_shared<const Events>(
          Events{{event_id(claimed->record.operation_id), "done", "", body_for(key)}});
    }
    const auto done =
        executor.template call<Record>([&](auto& reply) { return store.complete(completion, reply); });
    if (!done) {
      std::fprintf(stderr, "complete: %s\n", done.error().message.c_str());
      return;
    }
    say('D', key);
  }
}

std::unique_ptr<embedded::EmbeddedStore> open_or_exit(const std::string& dir, const Clock& clock,
                                                      embedded::Durability durability) {
  embedded::EmbeddedOptions options;
  options.dir = dir;
  options.clock = &clock;
  options.durability = durability;
  options.segment_bytes = segment_bytes;
  auto store = embedded::open_embedded(options);
  if (!store) {
    std::fprintf(stderr, "open: %s\n", store.error().message.c_str());
    std::exit(2);
  }
  return std::move(*store);
}

int write_until_killed(const std::string& dir, const std::string& durability, const std::string& session) {
  const SystemClock clock;
  const auto store = open_or_exit(
      dir, clock, durability == "process" ? embedded::Durability::process : embedded::Durability::disk);
  std::vector<std::jthread> workers;
  for (int i = 0; i < in_flight; ++i) {
    workers.emplace_back([&, i] {
      const std::string prefix = session + "." + std::to_string(i) + ".";
      // Most write the log themselves, as the proxy's workers do; the others have its thread do it.
      if (i % 4 == 0) {
        write_pairs<BlockingExecutor>(*store, clock, prefix);
      } else {
        write_pairs<PollingExecutor>(*store, clock, prefix);
      }
    });
  }
  workers.clear();
  return 0;
}

// Another claim of the same fact must be refused by the record's mark.
bool mark_stands(Store& store, const std::string& name, const Clock& clock) {
  ClaimRequest request;
  request.scope = scope_for("other " + name);
  request.operation_id = make_operation_id(request.scope, clock.now(), 1);
  request.owner.data[0] = 2;
  RequestInfo info{"tenant", "powercut", "", {}};
  info.marks = {mark_for(name)};
  request.request = std::make_shared<const RequestInfo>(std::move(info));
  request.lease = request.max_hold = request.ttl = std::chrono::seconds(30);
  BlockingExecutor executor;
  const auto reply = executor.call<ClaimReply>([&](auto& r) { return store.claim(request, r); });
  return reply && !reply->granted && reply->standing && reply->standing->scope == scope_for(name);
}

std::map<std::string, std::string> all_events(Store& store) {
  std::map<std::string, std::string> found;
  BlockingExecutor executor;
  ListEventsRequest request;
  do {
    const auto page =
        executor.call<ListEventsReply>([&](auto& r) { return store.outbox()->list_events(request, r); });
    if (!page) std::exit(2);
    for (const PendingEvent& one : page->events) found[one.event.id] = one.event.payload;
    request.cursor = page->cursor;
  } while (!request.cursor.empty());
  return found;
}

int check(const std::string& dir) {
  const SystemClock clock;
  const auto store = open_or_exit(dir, clock, embedded::Durability::disk);
  std::map<std::string, char> said;
  char what = 0;
  std::string key;
  while (std::cin >> what >> key) said[key] = std::max(said[key], what);
  const std::map<std::string, std::string> events = all_events(*store);
  BlockingExecutor executor;
  int lost = 0;
  for (const auto& [name, last] : said) {
    const Scope scope = scope_for(name);
    const auto record = executor.call<Record>([&](auto& reply) { return store->lookup(scope, reply); });
    const bool has_body = record && record->response && record->response->body == body_for(name);
    const bool is_held = record && record->state == State::unknown;
    bool is_whole = true;
    if (record && is_marked(name)) {
      const auto event = events.find(event_id(record->operation_id));
      const bool has_event = event != events.end() && event->second == body_for(name);
      is_whole = has_event == has_body && mark_stands(*store, name, clock);
    }
    if (is_whole && (has_body || (last == 'C' && is_held))) continue;
    ++lost;
    if (lost <= 3) {
      std::fprintf(stderr, "lost: %c %s (%s)\n", last, name.c_str(),
                   record ? std::string(to_string(record->state)).c_str() : record.error().message.c_str());
    }
  }
  std::printf("%zu acknowledged, %d lost\n", said.size(), lost);
  return lost == 0 ? 0 : 1;
}

}  // namespace
}  // namespace onceward

int main(int count, char** values) {
  const std::string verb = count > 1 ? values[1] : "";
  if (verb == "write" && count == 5) return onceward::write_until_killed(values[2], values[3], values[4]);
  if (verb == "check" && count == 3) return onceward::check(values[2]);
  std::fprintf(stderr, "usage: powercut_writer write DIR disk|process SESSION | check DIR\n");
  return 2;
}
