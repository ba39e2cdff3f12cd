// Opens the store that the configuration names: for the proxy and for the library alike. The one place
// that knows which stores exist.
#pragma once

#include <functional>
#include <memory>

#include "base/readiness.hpp"
#include "config/config.hpp"
#include "onceward/result.hpp"
#include "onceward/store.hpp"

namespace onceward {

struct OpenedStore {
  std::unique_ptr<Store> store;
  std::function<Readiness()> readiness;
};

// Errc::invalid: the store's address has an option that its store does not understand.
Result<Done> check_store(const config::Config& config);

Result<OpenedStore> open_store(const config::Config& config, const Clock& clock);

}  // namespace onceward
