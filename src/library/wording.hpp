// How the engine's outcomes are worded for callers of commands. Pure.
#pragma once

#include "engine/outcome.hpp"
#include "onceward/engine.hpp"

namespace onceward::api {

// `given` is what this call's work gave, if it ran; `leaves` are this command's.
Outcome worded(onceward::Outcome outcome, const Effect& given, const std::vector<Leaf>& leaves);
// A record that stands in the way of a claim.
Outcome worded_rejection(const Record& record, Rejection why, const std::vector<Leaf>& leaves);
Outcome worded_replay(const Record& record);
Outcome worded_in_progress(const Record& record);
Outcome worded_failure(const Error& error);

}  // namespace onceward::api
