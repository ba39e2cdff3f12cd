// Rules for the proxy's workers, compiled from a configuration that has already been checked.
#pragma once

#include <memory>

#include "config/config.hpp"
#include "onceward/result.hpp"
#include "ops/metrics.hpp"
#include "proxy/rules.hpp"

namespace onceward::cli {

using namespace config;

// Each worker gets rules of its own, so that no reference count is shared on the request path.
Result<std::shared_ptr<const Rules>> make_rules(const Config& config, Metrics& metrics);

// The secret of `security.secret_file`; empty when there is none.
Result<std::string> read_secret(const std::string& file);

// What the metrics are told at start.
std::vector<std::string> operation_names(const Config& config);

}  // namespace onceward::cli
