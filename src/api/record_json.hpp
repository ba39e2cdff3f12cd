// A record as operators see it. What a client sent or got is shown only when it is revealed. Pure.
#pragma once

#include <boost/json/object.hpp>

#include "onceward/values.hpp"

namespace onceward {

boost::json::object record_json(const Record& record, bool reveal);

}  // namespace onceward
