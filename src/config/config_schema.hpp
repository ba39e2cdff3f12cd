// The schema: what each section of a configuration may say, told to a Fields. The single place where
// names, types, limits and rules of settings are written down.
#pragma once

#include "config/config.hpp"
#include "config/config_fields.hpp"

namespace onceward::config {

void describe_config(Fields& fields, Config& config);
void describe_policy(Fields& fields, Policy& policy);  // the keys of `defaults` and of every operation
void describe_outcomes(Fields& fields, OutcomeTable& table);

}  // namespace onceward::config
