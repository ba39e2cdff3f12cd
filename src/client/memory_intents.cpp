#include <map>
#include <mutex>
#include <set>

#include "client/intent_store.hpp"

namespace onceward::client {
namespace {

struct Shelf {
  std::mutex mutex;
  std::map<std::string, IntentRecord> records;
  std::set<std::string> open;
};

class MemoryState final : public detail::IntentState {
 public:
  // Shared: an intent may outlive the store that gave it out.
  MemoryState(std::shared_ptr<Shelf> shelf, std::string name)
      : shelf_(std::move(shelf)), name_(std::move(name)) {}
  ~MemoryState() override {
    const std::lock_guard lock(shelf_->mutex);
    shelf_->open.erase(name_);
  }
  Result<Done> save() override {
    const std::lock_guard lock(shelf_->mutex);
    shelf_->records[name_] = record;
    return Done{};
  }
  Result<Done> remove() override {
    const std::lock_guard lock(shelf_->mutex);
    shelf_->records.erase(name_);
    return Done{};
  }

 private:
  std::shared_ptr<Shelf> shelf_;
  std::string name_;
};

class MemoryIntents final : public KeptIntents {
 protected:
  Result<std::unique_ptr<detail::IntentState>> take(const std::string& name) override {
    {
      const std::lock_guard lock(shelf_->mutex);
      if (!shelf_->open.insert(name).second) return busy(name);
    }
    std::unique_ptr<detail::IntentState> state = std::make_unique<MemoryState>(shelf_, name);
    const std::lock_guard lock(shelf_->mutex);
    if (const auto found = shelf_->records.find(name); found != shelf_->records.end())
      state->record = found->second;
    return state;
  }

 private:
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

}  // namespace

std::shared_ptr<IntentStore> IntentStore::in_memory() { return std::make_shared<MemoryIntents>(); }

}  // namespace onceward::client
