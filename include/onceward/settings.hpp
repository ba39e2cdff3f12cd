// Settings: engine and HTTP options from YAML, in the words of the proxy's configuration file: `store`,
// `durability`, `defaults`, `operations`, `identity.tenant`, `limits.max_response`. One file can serve a
// proxy and a service: what only a proxy does (listeners, upstream, API) is checked and left to it.
// Settings that guard requests and that the library cannot do are errors, never ignored.
#pragma once

#include <string>
#include <string_view>

#include "onceward/http.hpp"

namespace onceward {

namespace api {

struct Settings {
  EngineOptions engine;
  HttpOptions http;
};

// Errc::invalid with one line per mistake: "name:line:column: what is wrong".
ONCEWARD_API Result<Settings> settings_from_yaml(std::string_view text,
                                                 const std::string& name = "configuration");

}  // namespace api

}  // namespace onceward
