// Opens the store that the configuration names. The one place that knows which stores exist.
#pragma once

#include <functional>
#include <memory>

#include "cli/config.hpp"
#include "onceward/result.hpp"
#include "onceward/store.hpp"
#include "ops/admin_api.hpp"

namespace onceward::cli {

struct OpenedStore {
  std::unique_ptr<Store> store;
  std::function<Readiness()> readiness;
};

Result<OpenedStore> open_store(const Config& config, const Clock& clock);

}  // namespace onceward::cli
