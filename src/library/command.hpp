// From a public Command to what the engine takes: shared by run() and claim().
#pragma once

#include <memory>
#include <optional>

#include "library/host.hpp"
#include "library/subject.hpp"
#include "onceward/engine.hpp"

namespace onceward::api {

std::shared_ptr<const Subject> subject_of(const Host& host, Command command);
std::shared_ptr<const Subject> subject_of(const Operation& operation, Command command);
Outcome invalid_command(std::string message);
// What is wrong with a command, or nothing.
std::optional<Outcome> refusal(const Command& command);

}  // namespace onceward::api
