// What an operation came to as JSON, read and written: {resource_type, resource_id, failure_code}. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <memory>

#include "api/json_body.hpp"
#include "onceward/values.hpp"

namespace onceward {

// Of the member `result`. Null when it is absent or wrong; then the body says what.
std::shared_ptr<const OperationResult> read_result(JsonObject& parent);

boost::json::object result_json(const OperationResult& result);

}  // namespace onceward
