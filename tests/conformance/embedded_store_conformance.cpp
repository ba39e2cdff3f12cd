#include <filesystem>
#include <fstream>

#include "conformance/store_conformance.hpp"
#include "stores/embedded/embedded_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceward::testing {
namespace {

class EmbeddedUnderTest final : public StoreUnderTest {
 public:
  explicit EmbeddedUnderTest(std::uint64_t segment_bytes) {
    options_.dir = folder_.path() + "/store";
    options_.clock = &clock_;
    options_.segment_bytes = segment_bytes;
    options_.durability = embedded::Durability::process;  // the cut of power has its own test
    open();
  }
  Store& store() override { return *store_; }
  Timestamp now() override { return clock_.now(); }
  void advance(Duration by) override { clock_.advance(by); }
  bool restart() override {
    store_.reset();
    open();
    return true;
  }
  // Flips a bit behind every copy of the scope in the log.
  bool corrupt(const Scope& scope) override {
    const std::string wanted(reinterpret_cast<const char*>(scope.data.data()), scope.data.size());
    bool found = false;
    for (const auto& file : std::filesystem::directory_iterator(options_.dir)) {
      if (file.path().extension() != ".log") continue;
      std::fstream log(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>()};
      for (std::size_t at = bytes.find(wanted); at != std::string::npos; at = bytes.find(wanted, at + 1)) {
        log.clear();
        log.seekp(static_cast<std::streamoff>(at + wanted.size() + 3));
        log.put(static_cast<char>(bytes[at + wanted.size() + 3] ^ 0x10));
        found = true;
      }
    }
    return found;
  }

 private:
  void open() {
    Result<std::unique_ptr<embedded::EmbeddedStore>> opened = embedded::open_embedded(options_);
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

  TemporaryFolder folder_;
  FakeClock clock_;
  embedded::EmbeddedOptions options_;
  std::unique_ptr<embedded::EmbeddedStore> store_;
};

// With small segments, so that sealing, index files and cleaning take part; and with one large one.
ONCEWARD_STORE_CONFORMANCE(
    Embedded,
    ::testing::Values(StoreFactory{"embedded", [] { return std::make_unique<EmbeddedUnderTest>(8 << 20); }},
                      StoreFactory{"embedded_small_segments",
                                   [] { return std::make_unique<EmbeddedUnderTest>(64 << 10); }}));

}  // namespace
}  // namespace onceward::testing
