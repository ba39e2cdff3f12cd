// Rules for the API, compiled from a configuration that has already been checked.
#pragma once

#include <memory>

#include "api/api_rules.hpp"
#include "config/config.hpp"
#include "onceward/result.hpp"
#include "ops/metrics.hpp"

namespace onceward::cli {

using namespace config;

Result<std::shared_ptr<const ApiRules>> make_api_rules(const Config& config, Metrics& metrics, Tokens tokens);

}  // namespace onceward::cli
