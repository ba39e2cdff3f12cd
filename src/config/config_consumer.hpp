// The schema of `consumers`.
#pragma once

#include "config/config.hpp"
#include "config/config_fields.hpp"

namespace onceward::config {

// Each entry begins with the defaults; `config` must outlive what is returned.
SectionList consumers(Config& config);

}  // namespace onceward::config
