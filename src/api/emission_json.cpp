#include "api/emission_json.hpp"

#include <algorithm>

#include "base/base64.hpp"
#include "core/outcome_events.hpp"
#include "http/chars.hpp"

namespace onceward {
namespace {

constexpr std::size_t emissions_max = 100;

Emission read_emission(JsonObject& object, std::size_t bytes_max) {
  Emission emission;
  emission.type = object.needed_text("type", 200);
  if (!emission.type.empty() && !is_event_type(emission.type))
    object.fail("type", "must be made of visible ASCII characters");
  const auto data = object.raw("data");
  const auto encoded = object.text("body", bytes_max / 3 * 4 + 8);
  if (data && encoded) object.fail("body", "stands beside data; give one of them");
  emission.data = data.value_or("null");
  if (encoded) {
    auto decoded = from_base64(*encoded);
    if (!decoded) object.fail("body", "is not base64");
    emission.data = std::move(decoded).value_or("");
    emission.content_type = "application/octet-stream";
  }
  if (const auto type = object.text("content_type", 200)) {
    if (!encoded) object.fail("content_type", "belongs to a body");
    if (!std::ranges::all_of(*type, http::is_value_char)) object.fail("content_type", "is not one");
    emission.content_type = *type;
  }
  object.refuse_unknown();
  return emission;
}

}  // namespace

std::shared_ptr<const std::vector<Emission>> read_emissions(JsonObject& parent, std::size_t bytes_max) {
  std::vector<JsonObject> objects = parent.objects("events");
  if (objects.empty()) return nullptr;
  if (objects.size() > emissions_max) parent.fail("events", "are more than 100");
  auto emissions = std::make_shared<std::vector<Emission>>();
  for (JsonObject& object : objects) {
    Emission emission = read_emission(object, bytes_max);
    if (std::ranges::find(*emissions, emission.type, &Emission::type) != emissions->end())
      object.fail("type", "stands here twice: an operation has one event of a type");
    emissions->push_back(std::move(emission));
  }
  return emissions;
}

}  // namespace onceward
