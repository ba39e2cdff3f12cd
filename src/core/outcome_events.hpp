// The events that an outcome is told by: those its operation's rules ask for and those its handler emitted,
// as CloudEvents 1.0 in JSON. Pure.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "onceward/policy.hpp"
#include "onceward/values.hpp"

namespace onceward {

inline constexpr std::string_view cloud_event_type = "application/cloudevents+json";

// 1 to 200 visible ASCII characters: types travel in headers.
bool is_event_type(std::string_view type);

// What happened, to whom, when.
struct Occurrence {
  const OperationId& operation_id;
  const RequestInfo& request;
  State as = State::succeeded;
  const Response* response = nullptr;
  const OperationResult* result = nullptr;
  Timestamp at{};
};

// Null when there are none. An emitted event takes the place of a rule's of the same type: ids are unique.
// What is emitted counts for either outcome; types must be valid, and no two emitted ones alike.
std::shared_ptr<const Events> events_of(const Occurrence& what, std::span<const EventRule> rules,
                                        std::span<const Emission> emitted);

}  // namespace onceward
