// A whole consumer on Kafka: mock cluster, engine, memory store, and a service that counts, in one process.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/system.hpp"
#include "brokers/kafka_cluster.hpp"
#include "http/testing.hpp"
#include "messaging/brokers/kafka_publisher.hpp"
#include "sidecar/consumer.hpp"
#include "stores/memory/memory_store.hpp"

namespace onceward::sidecar {
namespace {

using namespace std::chrono_literals;
using messaging::KafkaCluster;
using messaging::KafkaRead;
using messaging::OutMessage;

MonoTime soon() { return std::chrono::steady_clock::now() + 20s; }

class KafkaConsumer : public testing::Test {
 protected:
  KafkaConsumer() {
    cluster_.topic("orders");
    cluster_.topic("orders.dead");
  }
  ~KafkaConsumer() override {
    consumer_->stop(soon());
    consumer_->join();
    worker_.run([this] { consumer_.reset(); });
  }

  void start(std::function<int(const std::string& id, int calls)> status) {
    status_ = std::move(status);
    HandlerRules rules;
    rules.target = {"POST", "/handle", service_.address, "billing"};
    rules.id = "message-id";
    rules.attempts = 3;
    rules.pause = Duration(10);
    Policy policy;
    policy.outcomes.set(500, OutcomeClass::retry);
    rules.policy = std::make_shared<const Policy>(policy);
    rules.max_response = 1 << 20;
    auto source = messaging::make_source({cluster_.url("orders?group=g"), "", 8});
    ASSERT_TRUE(source) << source.error().message;
    http::UpstreamOptions options;
    options.url = "http://" + service_.address;
    std::shared_ptr<http::Upstream> upstream = std::move(*http::Upstream::make(*worker_, options));
    const SidecarContext context{engine_, *worker_, clock_, random_, log_, metrics_.shard(0), nullptr};
    consumer_ = std::make_unique<Consumer>(context, rules, std::move(upstream), std::move(*source), 8);
    consumer_->start();
  }
  void put(const std::vector<std::string>& ids, const messaging::MessageHeaders& headers = {}) {
    using namespace messaging;
    KafkaPublisher publisher(*kafka_options(*parse_broker_url(cluster_.url("orders")), {}), "orders");
    std::vector<OutMessage> batch;
    for (const std::string& id : ids) batch.push_back({"k", id, "", "application/json", "{}", headers});
    for (const SendResult& sent : publisher.publish(batch, soon())) {
      ASSERT_EQ(sent.verdict, SendVerdict::delivered) << sent.error;
    }
  }
  // Committed as far as this.
  bool reaches(std::int64_t offset) {
    const MonoTime end = soon();
    while (std::chrono::steady_clock::now() < end) {
      if (cluster_.committed("g", "orders") == offset) return true;
    }
    return false;
  }
  std::vector<std::string> handled() {
    const std::scoped_lock lock(mutex_);
    return handled_;
  }

  KafkaCluster cluster_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_);
  Engine engine_{*store_, clock_, random_};
  Log log_{{.level = LogLevel::off}};
  Metrics metrics_{{"billing"}, 1};
  std::mutex mutex_;
  std::vector<std::string> handled_;
  std::function<int(const std::string&, int)> status_;
  http::testing::RunningServer service_{[this](http::Exchange& exchange) -> Task<> {
    const std::string id(exchange.request().headers.find("Idempotency-Key").value_or(""));
    int calls = 0;
    {
      const std::scoped_lock lock(mutex_);
      handled_.push_back(id);
      calls = static_cast<int>(std::ranges::count(handled_, id));
    }
    std::string body;
    (void)co_await exchange.read_body(1 << 20, body);
    (void)co_await exchange.respond(status_(id, calls), "", "");
  }};
  net::testing::WorkerThread worker_;
  std::unique_ptr<Consumer> consumer_;
};

TEST_F(KafkaConsumer, handles_an_id_that_comes_ten_times_once_and_commits_all_of_them) {
  start([](const std::string&, int) { return 200; });
  put(std::vector<std::string>(10, "order-1"));
  put({"order-2"});
  EXPECT_TRUE(reaches(11));
  std::vector<std::string> effects = handled();
  std::ranges::sort(effects);
  EXPECT_EQ(effects, (std::vector<std::string>{"order-1", "order-2"}));
}

TEST_F(KafkaConsumer, tries_again_and_then_puts_the_message_aside) {
  start([](const std::string& id, int calls) { return id == "bad" || calls == 1 ? 500 : 200; });
  put({"bad", "slow"});
  EXPECT_TRUE(reaches(2));
  const std::vector<std::string> effects = handled();
  EXPECT_EQ(std::ranges::count(effects, "bad"), 3);
  EXPECT_EQ(std::ranges::count(effects, "slow"), 2);
  const std::vector<KafkaRead> letters = cluster_.read("orders.dead", 1);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].header("id"), "bad");
  EXPECT_EQ(letters[0].header("x-onceward-reason"), "attempts");
}

TEST_F(KafkaConsumer, gives_no_more_attempts_to_a_message_that_only_says_it_was_tried) {
  start([](const std::string&, int) { return 500; });
  put({"bad"}, {{"X-Onceward-Attempts", "4294967295"}});
  EXPECT_TRUE(reaches(1));
  EXPECT_EQ(handled().size(), 3u);
  const std::vector<KafkaRead> letters = cluster_.read("orders.dead", 1);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].header("x-onceward-attempts"), "3");
  EXPECT_EQ(letters[0].header("X-Onceward-Attempts"), "");
}

}  // namespace
}  // namespace onceward::sidecar
