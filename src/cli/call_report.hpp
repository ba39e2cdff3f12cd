// What `onceward call` prints and how it exits. Pure.
#pragma once

#include <string>

#include "onceward/client.hpp"

namespace onceward::cli {

inline constexpr int exit_unknown = 3;  // of `call`: it may or may not have happened

int call_exit_code(client::Ending ending);

// The status line and headers as on the wire, with the empty line.
std::string answer_head(const client::Answer& answer);
// One JSON object on one line. A body that is not UTF-8 is given as bodyBase64.
std::string call_json(const client::Intent& intent, const client::Outcome& outcome);

}  // namespace onceward::cli
