#include "stores/failpoint/failpoint_store.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "support/fakes.hpp"
#include "support/model_store.hpp"
#include "support/virtual_executor.hpp"

#ifdef ONCEWARD_FAILPOINTS

namespace onceward::testing {
namespace {

// A reply that counts how often it was given.
template <class T>
struct Counted : Reply<T> {
  explicit Counted(Executor& executor) : Reply<T>(executor) {
    this->run = [](Completion* self) { ++static_cast<Counted*>(self)->posted; };
  }
  int posted = 0;
};

class FailpointStoreTest : public ::testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(arm_failpoints("")); }

  static ClaimRequest request() {
    ClaimRequest request;
    request.scope.data[0] = 1;
    request.owner.data[0] = 2;
    request.operation_id.data[0] = 3;
    request.fingerprint.version = 1;
    request.request = std::make_shared<const RequestInfo>();
    request.lease = request.max_hold = request.ttl = std::chrono::hours(1);
    return request;
  }
  CompleteRequest completion() {
    return {mine(), State::succeeded, std::make_shared<const Response>(Response{.status = 201}), {}};
  }
  template <class T, class Start>
  Result<Done> done(Start start) {
    Counted<T> reply(time_.executor);
    EXPECT_TRUE(start(static_cast<Reply<T>&>(reply)));
    if (!reply.value) return reply.value.error();
    return Done{};
  }
  Fence mine() { return fence_of(*inner_->find(request().scope)); }

  VirtualRun time_;
  ModelStore* inner_ = new ModelStore(time_.clock);
  std::unique_ptr<Store> store_ = make_failpoint_store(std::unique_ptr<Store>(inner_));
};

TEST_F(FailpointStoreTest, an_error_before_never_reaches_the_inner_store) {
  ASSERT_TRUE(arm_failpoints("claim.before:error@1"));
  Counted<ClaimReply> reply(time_.executor);
  ASSERT_TRUE(store_->claim(request(), reply));
  ASSERT_FALSE(reply.value);
  EXPECT_EQ(reply.value.error().code, Errc::unavailable);
  EXPECT_EQ(inner_->calls("claim"), 0);
}

TEST_F(FailpointStoreTest, an_error_after_loses_the_reply_of_what_was_done) {
  ASSERT_TRUE(arm_failpoints("claim.after:error@1"));
  Counted<ClaimReply> reply(time_.executor);
  ASSERT_TRUE(store_->claim(request(), reply));
  ASSERT_FALSE(reply.value);
  EXPECT_EQ(reply.value.error().code, Errc::unavailable);
  EXPECT_NE(inner_->find(request().scope), nullptr);
  ASSERT_TRUE(store_->claim(request(), reply));
  EXPECT_TRUE(reply.value->granted) << "the same owner finds its claim";
  EXPECT_EQ(reply.posted, 0) << "answered at once: not posted too";
}

TEST_F(FailpointStoreTest, a_store_that_answers_later_is_waited_for_and_answers_once) {
  const struct {
    const char* armed;
    bool arrives;
  } table[] = {{"claim.after:error@2", true}, {"claim.after:error@1", false}};
  for (const auto& row : table) {
    ASSERT_TRUE(arm_failpoints(row.armed));
    inner_->hold_replies_of("claim");
    Counted<ClaimReply> reply(time_.executor);
    const ClaimRequest asked = request();
    ASSERT_FALSE(store_->claim(asked, reply));
    time_.run();
    EXPECT_EQ(reply.posted, 0) << "before the inner store has answered";
    inner_->release_held();
    EXPECT_EQ(reply.posted, 0) << "only on its executor";
    time_.run();
    EXPECT_EQ(reply.posted, 1);
    EXPECT_EQ(reply.value.has_value(), row.arrives) << row.armed;
  }
}

TEST_F(FailpointStoreTest, every_verb_passes_its_own_two_points) {
  const ClaimRequest claim = request();
  const struct {
    std::string verb;
    std::function<Result<Done>()> call;
  } table[] = {
      {"claim", [&] { return done<ClaimReply>([&](auto& r) { return store_->claim(claim, r); }); }},
      {"lookup", [&] { return done<Record>([&](auto& r) { return store_->lookup(claim.scope, r); }); }},
      {"lookup",
       [&] { return done<Record>([&](auto& r) { return store_->lookup(claim.operation_id, r); }); }},
      {"renew",
       [&] { return done<Record>([&](auto& r) { return store_->renew({mine(), claim.lease}, r); }); }},
      {"unknown", [&] { return done<Record>([&](auto& r) { return store_->unknown({mine(), {}}, r); }); }},
      {"complete", [&] { return done<Record>([&](auto& r) { return store_->complete(completion(), r); }); }},
      {"purge", [&] { return done<PurgeReply>([&](auto& r) { return store_->purge({}, r); }); }},
  };
  for (const auto& row : table) {
    for (const std::string point : {".before", ".after"}) {
      ASSERT_TRUE(arm_failpoints(row.verb + point + ":error@1"));
      const Result<Done> first = row.call();
      ASSERT_FALSE(first) << row.verb << point;
      EXPECT_EQ(first.error().code, Errc::unavailable);
      EXPECT_TRUE(row.call()) << row.verb << point << " fails a second time";
    }
  }
}

TEST_F(FailpointStoreTest, what_the_inner_store_says_comes_through_unchanged) {
  ASSERT_TRUE(arm_failpoints("send.after:error"));
  Reply<Record> reply(time_.executor);
  ASSERT_TRUE(store_->lookup(request().scope, reply));
  EXPECT_EQ(reply.value.error().code, Errc::not_found);
  inner_->fail_next("claim", {Errc::refused, false});
  Reply<ClaimReply> claimed(time_.executor);
  ASSERT_TRUE(store_->claim(request(), claimed));
  EXPECT_EQ(claimed.value.error().code, Errc::refused);
}

TEST_F(FailpointStoreTest, watches_are_the_inner_stores) {
  int woken = 0;
  store_->watch(request().scope, [&] { ++woken; });
  inner_->wake(request().scope);
  store_->unwatch(request().scope);
  inner_->wake(request().scope);
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace onceward::testing

#endif
