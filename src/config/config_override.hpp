// Overrides: settings from the environment and the command line, put into the file's tree before it is
// read, so that they go through the same schema as everything else.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "config/yaml_node.hpp"

namespace onceward::config {

// Every variable that sets something, such as ONCEWARD_DEFAULTS_TTL.
std::vector<std::string> environment_names();

// Names that match no setting are errors. Flags are applied last, so that they win.
void apply_overrides(YamlNode& root, const ConfigSources& sources, std::vector<YamlError>& errors);

}  // namespace onceward::config
