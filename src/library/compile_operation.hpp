// An operation's rules as they are given in code, checked and made ready for use. Pure.
#pragma once

#include <string>

#include "onceward/result.hpp"
#include "proxy/rules.hpp"

namespace onceward::api {

// Errc::invalid: the rules are wrong. An empty name is that of the defaults.
Result<Operation> compile_operation(const std::string& name, const std::string& match, const Policy& policy);

}  // namespace onceward::api
