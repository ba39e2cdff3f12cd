// One suite for every store. A store joins with a StoreUnderTest (make, advance the clock, restart)
// and one ONCEWARD_STORE_CONFORMANCE; see memory_store_conformance.cpp.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/marks.hpp"
#include "onceward/outbox_store.hpp"
#include "onceward/store.hpp"
#include "support/fakes.hpp"

namespace onceward::testing {

class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual Store& store() = 0;
  virtual Timestamp now() = 0;            // the clock that the store decides by
  virtual void advance(Duration by) = 0;  // of that clock
  // Closes and opens it again; false: this store keeps nothing (memory).
  virtual bool restart() { return false; }
  // Damages the stored bytes of a record; false: there are no bytes to damage.
  virtual bool corrupt(const Scope&) { return false; }
};

struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

inline void PrintTo(const StoreFactory& factory, std::ostream* out) { *out << factory.name; }
inline std::string factory_name(const ::testing::TestParamInfo<StoreFactory>& info) {
  return info.param.name;
}

class StoreConformance : public ::testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override { under_test_ = GetParam().make(); }

  Store& store() { return under_test_->store(); }
  Timestamp now() { return under_test_->now(); }
  void advance(Duration by) { under_test_->advance(by); }

  // A request as the engine would make it; `key` and `body` stand for scope and fingerprint.
  ClaimRequest request(const std::string& key, const std::string& body = "body",
                       const std::string& owner = "owner");
  Result<ClaimReply> claim(const ClaimRequest& request);
  Record must_claim(const ClaimRequest& request);  // granted, or the test fails
  Result<Record> dispatch(const Record& mine);
  Result<Record> renew(const Record& mine, Duration lease);
  Result<Record> complete(const Record& mine, const std::string& body = "answer", State as = State::succeeded,
                          std::optional<Duration> ttl = {});
  Result<Record> release(const Record& mine, bool unbind = false);
  Result<Record> unknown(const Record& mine, UnknownCause cause = UnknownCause::timeout);
  Result<Record> resolve(const Record& record, State as, Epoch epoch, const std::string& body = "");
  Result<bool> adopt(const Record& copy);  // of stores that are Adopters
  Result<bool> adopt_mark(const MarkEntry& copy, bool only_ask = false);
  std::vector<MarkEntry> list_marks(std::size_t page = 1000);  // each once, by scope
  Result<Record> lookup(const Scope& scope);
  Result<Record> lookup(const OperationId& id);
  Result<ListReply> list(const ListRequest& request);
  Result<PurgeReply> purge(const PurgeRequest& request);
  PurgeReply purge_all(PurgeRequest request = {});  // every chunk of one pass
  StoreStats stats();

  std::unique_ptr<StoreUnderTest> under_test_;
  BlockingExecutor executor_;
};

// References and results.
class ResultConformance : public StoreConformance {
 protected:
  ClaimRequest referring(const std::string& key, const std::string& reference,
                         const std::string& owner = "owner");
  Result<Record> complete_as(const Record& mine, OperationResult result, State as = State::succeeded);
  std::set<Scope> found_by(const std::string& reference, std::size_t page = 100);
};

// For stores that records are copied to and from; the others skip it.
class RecordAdoption : public StoreConformance {
 protected:
  void SetUp() override;
};

// For stores that keep marks; the others skip it.
class MarkConformance : public StoreConformance {
 protected:
  void SetUp() override;

  static Mark unique(const std::string& fact, Duration keep = std::chrono::days(365));
  static Mark suspect(const std::string& likeness, bool refuses = true);  // for 30 s
  ClaimRequest marked(const std::string& key, std::vector<Mark> marks, const std::string& owner = "owner");
  // Refused because of a mark that `holder` has, and nothing was written.
  void expect_refused(const ClaimRequest& wanted, const Record& holder);
};

// For those of them that marks are copied to and from.
class MarkAdoption : public MarkConformance {
 protected:
  void SetUp() override;

  // As another store would give it: that this fact has come true, by the operation of that number.
  MarkEntry fact(const std::string& name, std::uint8_t who, Duration left);
};

// For stores that keep an outbox; the others skip it.
class OutboxConformance : public StoreConformance {
 protected:
  void SetUp() override;

  OutboxStore& outbox() { return *store().outbox(); }
  static Event event(const Record& of, const std::string& type);
  static std::string id(const Record& of, const std::string& type);
  Result<Record> complete_with(const Record& mine, const std::vector<std::string>& types,
                               State as = State::succeeded);
  Record completed(const std::string& key, const std::vector<std::string>& types);
  Record relay(const std::string& owner = "relay", const std::string& key = "partition 0");
  std::vector<PendingEvent> fetch(const Record& of, std::size_t limit = 100);  // from that record's partition
  std::string due(const Record& of, std::size_t limit = 100);                  // "<type> " of each, in order
  Result<std::size_t> settle(const Record& relay, std::vector<std::string> delivered,
                             std::vector<FailedEvent> failed = {});
  ListEventsReply list_all(bool set_aside_only = false, std::size_t page = 100);
  Result<std::size_t> retry(std::vector<std::string> ids = {});
  OutboxStats outbox_stats();
};

// A store joins with one line: all of the suite.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): GoogleTest's registration is one itself
#define ONCEWARD_STORE_CONFORMANCE(prefix, ...)                                   \
  INSTANTIATE_TEST_SUITE_P(prefix, StoreConformance, __VA_ARGS__, factory_name);  \
  INSTANTIATE_TEST_SUITE_P(prefix, ResultConformance, __VA_ARGS__, factory_name); \
  INSTANTIATE_TEST_SUITE_P(prefix, RecordAdoption, __VA_ARGS__, factory_name);    \
  INSTANTIATE_TEST_SUITE_P(prefix, MarkConformance, __VA_ARGS__, factory_name);   \
  INSTANTIATE_TEST_SUITE_P(prefix, MarkAdoption, __VA_ARGS__, factory_name);      \
  INSTANTIATE_TEST_SUITE_P(prefix, OutboxConformance, __VA_ARGS__, factory_name)

}  // namespace onceward::testing
