#include <map>
#include <mutex>
#include <random>

#include "conformance/store_conformance.hpp"
#include "stores/memory/memory_store.hpp"
#include "stores/tiered/tiered_store.hpp"

namespace onceward::testing {
namespace {

// How a cache behaves. Neither may change an answer: an unkind one comes and goes, forgets, damages what it
// keeps and hands out what belongs to others.
enum class Manners { faithful, unkind };

// Any thread, like a real one.
class FakeCache final : public OutcomeCache {
 public:
  FakeCache(const Clock& clock, Manners manners) : clock_(clock), manners_(manners) {}

  bool is_reachable() const override {
    const std::lock_guard lock(mutex_);
    return !is_unkind_now();
  }
  bool get(const Scope& scope, Reply<std::string>& reply) override {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(is_unkind_now() ? other(scope) : scope);
    const bool gone = found == kept_.end() || found->second.until <= clock_.mono();
    reply.value = gone ? Result<std::string>(Error{Errc::not_found, "a miss"}) : found->second.bytes;
    hits_ += gone ? 0 : 1;
    if (is_unkind_now()) reply.value = Error{Errc::unavailable, "late"};
    return true;
  }
  void put(const Scope& scope, std::string bytes, Duration life) override {
    EXPECT_GT(life, Duration::zero());
    const std::lock_guard lock(mutex_);
    if (is_unkind_now()) return;
    if (is_unkind_now()) bytes[chance_() % bytes.size()] ^= 0x10;
    kept_[scope] = {std::move(bytes), clock_.mono() + life};
  }
  bool remove(const Scope& scope, Reply<Done>& reply) override {
    const std::lock_guard lock(mutex_);
    kept_.erase(scope);
    reply.value = Done{};
    return true;
  }
  void announce(const Scope&) override {}
  void watch(const Scope&, std::function<void()>) override {}
  void unwatch(const Scope&) override {}

  int hits() const {
    const std::lock_guard lock(mutex_);
    return hits_;
  }

 private:
  struct Entry {
    std::string bytes;
    MonoTime until;
  };
  bool is_unkind_now() const { return manners_ == Manners::unkind && chance_() % 3 == 0; }
  Scope other(const Scope& scope) const {
    for (const auto& [kept, entry] : kept_)
      if (kept != scope) return kept;
    return scope;
  }

  const Clock& clock_;
  const Manners manners_;
  mutable std::mutex mutex_;
  std::map<Scope, Entry> kept_;     // guarded by mutex_
  mutable std::mt19937 chance_{1};  // guarded by mutex_
  int hits_ = 0;                    // guarded by mutex_
};

class TieredUnderTest final : public StoreUnderTest {
 public:
  explicit TieredUnderTest(Manners manners) {
    auto cache = std::make_unique<FakeCache>(clock_, manners);
    cache_ = cache.get();
    store_ = make_tiered_store(make_memory_store(clock_), std::move(cache), clock_);
  }
  Store& store() override { return *store_; }
  Timestamp now() override { return clock_.now(); }
  void advance(Duration by) override { clock_.advance(by); }
  const FakeCache& cache() const { return *cache_; }

 private:
  FakeClock clock_;
  FakeCache* cache_ = nullptr;
  std::unique_ptr<Store> store_;
};

StoreFactory tiered(std::string name, Manners manners) {
  return {std::move(name), [manners] { return std::make_unique<TieredUnderTest>(manners); }};
}

ONCEWARD_STORE_CONFORMANCE(Tiered, ::testing::Values(tiered("faithful_cache", Manners::faithful),
                                                     tiered("unkind_cache", Manners::unkind)));

class Tiered : public StoreConformance {
 protected:
  void SetUp() override { under_test_ = std::make_unique<TieredUnderTest>(Manners::faithful); }
  int hits() const { return static_cast<const TieredUnderTest&>(*under_test_).cache().hits(); }
};

TEST_P(Tiered, AReplayIsAnsweredFromTheCopy) {
  ASSERT_TRUE(complete(must_claim(request("k"))));
  const Result<ClaimReply> again = claim(request("k", "body", "another"));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->granted);
  EXPECT_EQ(again->record.response->body, "answer");
  EXPECT_EQ(hits(), 1);
}

TEST_P(Tiered, ALookupIsAnsweredFromTheCopyToo) {
  const Record mine = must_claim(request("k"));
  EXPECT_EQ(lookup(mine.scope)->state, State::processing);
  ASSERT_TRUE(complete(mine));
  EXPECT_EQ(lookup(mine.scope)->response->body, "answer");
  EXPECT_EQ(hits(), 1);
}

TEST_P(Tiered, ACopyDiesBeforeItsRecordDoes) {
  ClaimRequest first = request("k");
  first.ttl = std::chrono::minutes(1);
  ASSERT_TRUE(complete(must_claim(first)));
  advance(first.ttl);
  must_claim(request("k", "body", "another"));
  EXPECT_EQ(hits(), 0);
}

INSTANTIATE_TEST_SUITE_P(Tiered, Tiered, ::testing::Values(tiered("faithful_cache", Manners::faithful)),
                         factory_name);

}  // namespace
}  // namespace onceward::testing
