// The schema of one entry of `operations`.
#pragma once

#include "config/config.hpp"
#include "config/config_fields.hpp"

namespace onceward::config {

// `operation.policy` must already hold the defaults: the entry's settings go on top, key by key.
void describe_operation(Fields& fields, OperationConfig& operation);

}  // namespace onceward::config
