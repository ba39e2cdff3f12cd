#include "api/audit.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "support/fakes.hpp"
#include "support/model_store.hpp"
#include "support/virtual_executor.hpp"

namespace onceward {
namespace {

// A store that reads no answers for a list, as the ones on servers do.
class SparseStore final : public testing::ModelStore {
 public:
  using ModelStore::ModelStore;
  bool list(const ListRequest& request, Reply<ListReply>& reply) override {
    const bool at_once = ModelStore::list(request, reply);
    if (reply.value) {
      for (Record& record : reply.value->records) record.response = nullptr;
    }
    return at_once;
  }
};

struct AuditTest : ::testing::Test {
  testing::VirtualTime time;
  testing::VirtualClock clock{time};
  testing::VirtualExecutor executor{clock};
  testing::SeededRandom random{1};
  SparseStore store{clock};
  Audit audit{store, clock, random};

  // The model answers at once, so a task has ended when spawn returns.
  void change(std::string_view what, std::string_view outcome) {
    spawn([](AuditTest& test, std::string_view name, std::string_view end) -> Task<> {
      Result<Record> open = co_await test.audit.begin(
          test.executor, {{"action", name}, {"operation_id", name}}, std::chrono::hours(1));
      if (open && !end.empty()) co_await test.audit.end(test.executor, std::move(*open), end, {});
    }(*this, what, outcome));
  }
  AuditPage list(AuditQuery query) {
    AuditPage page;
    spawn([](AuditTest& test, AuditQuery asked, AuditPage& out) -> Task<> {
      Result<AuditPage> got = co_await test.audit.list(test.executor, std::move(asked));
      if (got) out = std::move(*got);
    }(*this, std::move(query), page));
    return page;
  }
};

TEST_F(AuditTest, TellsOutcomesOnStoresThatReadNoAnswersForAList) {
  change("first", "applied");
  change("second", "");
  change("third", "refused");
  AuditPage page = list({.limit = 2});
  ASSERT_EQ(page.entries.size(), 2u) << "newest first";
  EXPECT_EQ(page.entries[0].at("outcome"), "refused");
  EXPECT_EQ(page.entries[1].at("action"), "second");
  EXPECT_EQ(page.entries[1].at("outcome"), "unknown") << "an entry that stayed open";
  ASSERT_TRUE(page.next);
  page = list({.limit = 2, .before = page.next});
  ASSERT_EQ(page.entries.size(), 1u);
  EXPECT_EQ(page.entries[0].at("outcome"), "applied");
  EXPECT_FALSE(page.next);
  EXPECT_EQ(list({.about = "third"}).entries.size(), 1u);
}

}  // namespace
}  // namespace onceward
