// For tests: a store in a temporary folder and its verbs as blocking calls.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "base/sha256.hpp"
#include "core/scope.hpp"
#include "onceward/outbox_store.hpp"
#include "stores/embedded/embedded_store.hpp"
#include "support/fakes.hpp"
#include "support/polling_executor.hpp"
#include "support/temporary_folder.hpp"

namespace onceward::embedded {

inline ClaimRequest request_for(const std::string& key, Timestamp now, const std::string& owner = "owner") {
  ClaimRequest request;
  request.scope = scope_of("tenant", "caller", "orders.create", key, "");
  request.operation_id = make_operation_id(request.scope, now, 7);
  const auto nonce = sha256(owner + "/" + key);
  std::copy_n(nonce.begin(), request.owner.data.size(), request.owner.data.begin());
  request.fingerprint = {1, Digest{sha256("body")}};
  request.request =
      std::make_shared<const RequestInfo>(RequestInfo{"tenant", "orders.create", "0123abcd", {}});
  request.lease = std::chrono::seconds(30);
  request.max_hold = std::chrono::minutes(10);
  request.ttl = std::chrono::hours(24);
  return request;
}

// The same, with a mark: nobody else may claim this fact.
inline ClaimRequest marked_request(ClaimRequest request, const std::string& fact, Duration keep) {
  RequestInfo info = *request.request;
  info.marks = {{MarkKind::unique, Scope{sha256("unique " + fact)}, keep, true}};
  request.request = std::make_shared<const RequestInfo>(std::move(info));
  return request;
}

inline Event event_of(const Record& record, const std::string& payload) {
  return {to_string(record.operation_id) + ":created", "created", "text/plain", payload};
}

// Who writes what a caller's verbs bring: the log's own thread, or the caller's.
enum class Writes { elsewhere, here };

// The verbs of one store, each waited for. One thread.
class Caller {
 public:
  explicit Caller(Store& store, Writes writes = Writes::elsewhere) : store_(store) {
    if (writes == Writes::here) polling_.emplace();
  }
  Result<ClaimReply> claim(const ClaimRequest& request) {
    return call<ClaimReply>([&](auto& reply) { return store_.claim(request, reply); });
  }
  Result<Record> complete(const Record& mine, const std::string& body, std::optional<Duration> ttl = {}) {
    auto response = std::make_shared<const Response>(Response{201, false, "A: b\r\n", body});
    const CompleteRequest request{fence_of(mine), State::succeeded, std::move(response), ttl};
    return call<Record>([&](auto& reply) { return store_.complete(request, reply); });
  }
  Result<Record> complete_with_event(const Record& mine, const std::string& body) {
    CompleteRequest request{fence_of(mine), State::succeeded,
                            std::make_shared<const Response>(Response{201, false, "A: b\r\n", body}),
                            std::nullopt};
    request.events = std::make_shared<const Events>(Events{event_of(mine, body)});
    return call<Record>([&](auto& reply) { return store_.complete(request, reply); });
  }
  Result<std::size_t> settle(const SettleEventsRequest& request) {
    return call<std::size_t>([&](auto& reply) { return store_.outbox()->settle_events(request, reply); });
  }
  // Id and payload of everything that waits.
  std::map<std::string, std::string> events() {
    std::map<std::string, std::string> found;
    ListEventsRequest request;
    do {
      const auto page =
          call<ListEventsReply>([&](auto& reply) { return store_.outbox()->list_events(request, reply); });
      if (!page) {
        ADD_FAILURE() << page.error().message;
        return found;
      }
      for (const PendingEvent& one : page->events) found[one.event.id] = one.event.payload;
      request.cursor = page->cursor;
    } while (!request.cursor.empty());
    return found;
  }
  Result<Record> release(const Record& mine) {
    const ReleaseRequest request{fence_of(mine), false};
    return call<Record>([&](auto& reply) { return store_.release(request, reply); });
  }
  Result<Record> lookup(const Scope& scope) {
    return call<Record>([&](auto& reply) { return store_.lookup(scope, reply); });
  }
  Result<Record> lookup(const OperationId& id) {
    return call<Record>([&](auto& reply) { return store_.lookup(id, reply); });
  }
  std::vector<Record> list_all() {
    std::vector<Record> found;
    ListRequest request;
    do {
      const auto page = call<ListReply>([&](auto& r) { return store_.list(request, r); });
      if (!page) {
        ADD_FAILURE() << page.error().message;
        return found;
      }
      found.insert(found.end(), page->records.begin(), page->records.end());
      request.cursor = page->cursor;
    } while (!request.cursor.empty());
    return found;
  }
  PurgeReply purge_all(PurgeRequest request = {}) {
    PurgeReply total;
    for (int step = 0; step < 10'000; ++step) {
      const auto reply = call<PurgeReply>([&](auto& r) { return store_.purge(request, r); });
      if (!reply) {
        ADD_FAILURE() << reply.error().message;
        return total;
      }
      total.removed += reply->removed;
      total.receipts += reply->receipts;
      if (reply->cursor.empty()) return total;
      request.cursor = reply->cursor;
    }
    ADD_FAILURE() << "the purge never ends";
    return total;
  }
  StoreStats stats() {
    return *call<StoreStats>([&](auto& reply) { return store_.stats(reply); });
  }

 private:
  template <class T, class Start>
  Result<T> call(Start start) {
    return polling_ ? polling_->call<T>(start) : blocking_.call<T>(start);
  }

  Store& store_;
  testing::BlockingExecutor blocking_;
  std::optional<testing::PollingExecutor> polling_;
};

class EmbeddedTest : public ::testing::Test {
 protected:
  EmbeddedTest() {
    options_.dir = folder_.path() + "/store";
    options_.clock = &clock_;
    options_.segment_bytes = 64 << 10;
  }
  Result<std::unique_ptr<EmbeddedStore>> try_open() { return open_embedded(options_); }
  void open() {
    close();
    Result<std::unique_ptr<EmbeddedStore>> opened = try_open();
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
    caller_.emplace(*store_, writes_);
  }
  void close() {
    caller_.reset();
    store_.reset();
  }
  ClaimRequest request(const std::string& key, const std::string& owner = "owner") {
    return request_for(key, clock_.now(), owner);
  }
  Record must_claim(const std::string& key) {
    const Result<ClaimReply> reply = caller_->claim(request(key));
    if (!reply || !reply->granted) {
      ADD_FAILURE() << "not claimed: " << (reply ? "refused" : reply.error().message);
      return {};
    }
    return reply->record;
  }
  Record must_complete(const std::string& key, const std::string& body, std::optional<Duration> ttl = {}) {
    const Record mine = must_claim(key);
    const Result<Record> done = caller_->complete(mine, body, ttl);
    if (!done) ADD_FAILURE() << done.error().message;
    return done ? *done : Record{};
  }
  std::string body_of(const std::string& key) {
    const Result<Record> record = caller_->lookup(request(key).scope);
    if (!record)
      return "error " + std::to_string(static_cast<int>(record.error().code)) + " " + record.error().message;
    return record->response ? record->response->body : std::string(to_string(record->state));
  }

  testing::TemporaryFolder folder_;
  testing::FakeClock clock_;
  EmbeddedOptions options_;
  Writes writes_ = Writes::elsewhere;
  std::unique_ptr<EmbeddedStore> store_;
  std::optional<Caller> caller_;
};

}  // namespace onceward::embedded
