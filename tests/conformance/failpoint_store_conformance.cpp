// The failpoint store must be a store like any other when no point fails, or what it proves is about itself.
#include <stdexcept>

#include "conformance/store_conformance.hpp"
#include "stores/embedded/embedded_store.hpp"
#include "stores/failpoint/failpoint_store.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceward::testing {
namespace {

class FailpointMemory final : public StoreUnderTest {
 public:
  Store& store() override { return *store_; }
  Timestamp now() override { return clock_.now(); }
  void advance(Duration by) override { clock_.advance(by); }

 private:
  FakeClock clock_;
  std::unique_ptr<Store> store_ = make_failpoint_store(make_memory_store(clock_));
};

// Around a store that answers later, from another thread.
class FailpointEmbedded final : public StoreUnderTest {
 public:
  FailpointEmbedded() { open(); }
  Store& store() override { return *store_; }
  Timestamp now() override { return clock_.now(); }
  void advance(Duration by) override { clock_.advance(by); }
  bool restart() override {
    store_.reset();
    open();
    return true;
  }

 private:
  void open() {
    embedded::EmbeddedOptions options;
    options.dir = folder_.path() + "/store";
    options.clock = &clock_;
    options.durability = embedded::Durability::process;
    Result<std::unique_ptr<embedded::EmbeddedStore>> opened = embedded::open_embedded(options);
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = make_failpoint_store(std::move(*opened));
  }

  TemporaryFolder folder_;
  FakeClock clock_;
  std::unique_ptr<Store> store_;
};

ONCEWARD_STORE_CONFORMANCE(
    Failpoint,
    ::testing::Values(StoreFactory{"memory", [] { return std::make_unique<FailpointMemory>(); }},
                      StoreFactory{"embedded", [] { return std::make_unique<FailpointEmbedded>(); }}));

}  // namespace
}  // namespace onceward::testing
