#include "conformance/store_conformance.hpp"
#include "stores/memory/memory_store.hpp"

namespace onceward::testing {
namespace {

class MemoryUnderTest final : public StoreUnderTest {
 public:
  Store& store() override { return *store_; }
  Timestamp now() override { return clock_.now(); }
  void advance(Duration by) override { clock_.advance(by); }

 private:
  FakeClock clock_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_);
};

ONCEWARD_STORE_CONFORMANCE(Memory, ::testing::Values(StoreFactory{
                                       "memory", [] { return std::make_unique<MemoryUnderTest>(); }}));

}  // namespace
}  // namespace onceward::testing
