// Stores on the server that the test run started, and a way past them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/sha256.hpp"
#include "core/scope.hpp"
#include "stores/redis/redis_store.hpp"
#include "support/eventually.hpp"
#include "support/fakes.hpp"
#include "support/redis_servers.hpp"

namespace onceward::redis {

inline std::string server_url() {
  const char* url = std::getenv("ONCEWARD_TEST_REDIS");
  return url ? url : "";
}

class RedisServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (server_url().empty()) GTEST_SKIP() << "no server: run it with tests/servers/with redis";
    server_ = std::make_unique<testing::RedisServers>(server_url());
    server_->flush_all();
  }

  std::unique_ptr<RedisStore> open(const std::string& options = "?timeout=30s") {
    const std::string url = server_url() + options;
    Result<std::unique_ptr<RedisStore>> opened = open_redis({.url = url, .clock = clock_});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }

  static ClaimRequest request(const std::string& key, const std::string& owner = "owner") {
    ClaimRequest request;
    request.scope = scope_of("tenant", "caller", "orders", key, "");
    request.operation_id = make_operation_id(request.scope, Timestamp(Duration(1'800'000'000'000)), 7);
    const auto nonce = sha256(owner + "/" + key);
    std::copy_n(nonce.begin(), request.owner.data.size(), request.owner.data.begin());
    request.fingerprint = {1, Digest{sha256("body")}};
    request.request =
        std::make_shared<const RequestInfo>(RequestInfo{"tenant", "orders", "0123abcd", {{"/a", 7}}});
    request.lease = std::chrono::seconds(30);
    request.max_hold = std::chrono::minutes(10);
    request.ttl = std::chrono::hours(24);
    return request;
  }
  static std::shared_ptr<const Response> response(std::string body) {
    return std::make_shared<const Response>(Response{201, false, "Location: /orders/1\r\n", std::move(body)});
  }

  static Result<ClaimReply> claim(Store& store, const ClaimRequest& wanted) {
    testing::BlockingExecutor executor;
    return executor.call<ClaimReply>([&](auto& reply) { return store.claim(wanted, reply); });
  }
  static Result<Record> complete(Store& store, const Record& mine, const std::string& body = "answer") {
    testing::BlockingExecutor executor;
    const CompleteRequest done{fence_of(mine), State::succeeded, response(body), {}};
    return executor.call<Record>([&](auto& reply) { return store.complete(done, reply); });
  }
  static Result<Record> lookup(Store& store, const Scope& scope) {
    testing::BlockingExecutor executor;
    return executor.call<Record>([&](auto& reply) { return store.lookup(scope, reply); });
  }
  static Result<PurgeReply> purge(Store& store) {
    testing::BlockingExecutor executor;
    const PurgeRequest all;
    return executor.call<PurgeReply>([&](auto& reply) { return store.purge(all, reply); });
  }

  std::string ask(const std::vector<std::string>& words) { return server_->command(words); }
  static std::string key(const ClaimRequest& wanted) { return key_of("onceward:", wanted.scope); }

  const Clock* clock_ = nullptr;  // the server's
  std::unique_ptr<testing::RedisServers> server_;
};

}  // namespace onceward::redis
