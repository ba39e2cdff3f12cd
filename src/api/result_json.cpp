#include "api/result_json.hpp"

#include "core/operation_result.hpp"

namespace onceward {
namespace {

std::string read_text(JsonObject& object, std::string_view name, std::size_t bytes_max) {
  const std::optional<std::string> text = object.text(name, bytes_max);
  if (text && !is_showable(*text, bytes_max)) object.fail(name, "is empty or has a control character");
  return text.value_or("");
}

}  // namespace

std::shared_ptr<const OperationResult> read_result(JsonObject& parent) {
  std::optional<JsonObject> object = parent.object("result");
  if (!object) return nullptr;
  auto result = std::make_shared<OperationResult>();
  result->resource_type = read_text(*object, "resource_type", resource_type_bytes_max);
  result->resource_id = read_text(*object, "resource_id", resource_id_bytes_max);
  result->failure_code = read_text(*object, "failure_code", failure_code_bytes_max);
  if (result->resource_type.empty() != result->resource_id.empty())
    object->fail("resource_id", "resource_type and resource_id go together");
  object->refuse_unknown();
  return result;
}

boost::json::object result_json(const OperationResult& result) {
  boost::json::object out;
  if (!result.resource_id.empty()) {
    out["resource_type"] = result.resource_type;
    out["resource_id"] = result.resource_id;
  }
  if (!result.failure_code.empty()) out["failure_code"] = result.failure_code;
  return out;
}

}  // namespace onceward
