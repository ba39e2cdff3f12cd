// One suite for every store. A store joins with a StoreUnderTest (make, advance the clock, restart)
// and one INSTANTIATE_TEST_SUITE_P; see memory_store_conformance.cpp.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

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
  Result<Record> lookup(const Scope& scope);
  Result<Record> lookup(const OperationId& id);
  Result<ListReply> list(const ListRequest& request);
  Result<PurgeReply> purge(const PurgeRequest& request);
  PurgeReply purge_all(PurgeRequest request = {});  // every chunk of one pass
  StoreStats stats();

  std::unique_ptr<StoreUnderTest> under_test_;
  BlockingExecutor executor_;
};

}  // namespace onceward::testing
