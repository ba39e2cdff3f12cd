#include "core/probe_target.hpp"

#include <optional>

#include "core/json_pointer.hpp"
#include "core/json_value.hpp"

namespace onceward {
namespace {

constexpr std::string_view operation_id_name = "operation_id";

// Calls `literal` for text and `name` for what stands in braces; stops when either returns false.
template <class Literal, class Name>
bool for_each_part(std::string_view target, Literal literal, Name name) {
  while (!target.empty()) {
    const std::size_t open = target.find('{');
    if (!literal(target.substr(0, open))) return false;
    if (open == std::string_view::npos) return true;
    const std::size_t close = target.find('}', open);
    if (close == std::string_view::npos) return literal(target.substr(open));
    if (!name(target.substr(open + 1, close - open - 1))) return false;
    target.remove_prefix(close + 1);
  }
  return true;
}

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void append_encoded(std::string& out, std::string_view value) {
  constexpr char digits[] = "0123456789ABCDEF";
  for (const char c : value) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
  }
}

// A client chooses keys and bodies: with `..` it would choose what is asked.
bool is_usable(std::string_view value) { return !value.empty() && value != "." && value != ".."; }

template <class Find>
Result<std::string> fill_in(std::string_view target, Find find) {
  std::string out;
  const bool complete = for_each_part(
      target,
      [&](std::string_view text) {
        out += text;
        return true;
      },
      [&](std::string_view name) {
        const std::optional<std::string> value = find(name);
        if (!value) {
          out.append("{").append(name).append("}");  // for later
          return true;
        }
        append_encoded(out, *value);
        return is_usable(*value);
      });
  if (!complete) return Error{Errc::invalid, "a value of the probe's target is missing"};
  return out;
}

}  // namespace

std::string check_probe_target(std::string_view target) {
  std::string wrong;
  bool names_it = false;
  for_each_part(
      target, [](std::string_view) { return true; },
      [&](std::string_view name) {
        names_it = names_it || name == operation_id_name || name == "key";
        const bool is_pointer = name.starts_with('/') && pointer_tokens(name).has_value();
        if (name != operation_id_name && name != "key" && name != "tenant" && !is_pointer)
          wrong = "'{" + std::string(name) + "}' is none of {operation_id}, {key}, {tenant} and {/pointer}";
        return wrong.empty();
      });
  if (wrong.empty() && !names_it)
    wrong = "the request must say which operation it asks about: {operation_id} or {key}";
  return wrong;
}

std::string check_item_target(std::string_view target) {
  std::string wrong;
  for_each_part(
      target, [](std::string_view) { return true; },
      [&](std::string_view name) {
        if (!name.starts_with('/') || !pointer_tokens(name).has_value())
          wrong = "'{" + std::string(name) + "}' is not a {/pointer} into the item";
        return wrong.empty();
      });
  return wrong;
}

bool needs_request(std::string_view target) {
  return !for_each_part(
      target, [](std::string_view) { return true; },
      [](std::string_view name) { return name != "key" && !name.starts_with('/'); });
}

Result<std::string> fill_in_request(std::string_view target, const ProbeInputs& inputs) {
  return fill_in(target, [&](std::string_view name) -> std::optional<std::string> {
    if (name == operation_id_name) return std::nullopt;
    if (name == "key") return std::string(inputs.key);
    if (name == "tenant") return std::string(inputs.tenant);
    const Result<std::string> value = json_value_at(inputs.body, name);
    return value ? *value : std::string();
  });
}

Result<std::string> probe_target(const Record& record, const ProbePolicy& policy) {
  const std::string& kept = record.request->probe_target;
  if (kept.empty() && needs_request(policy.target))
    return Error{Errc::invalid, "the record does not hold what the probe's target needs"};
  return fill_in(kept.empty() ? policy.target : kept,
                 [&](std::string_view name) -> std::optional<std::string> {
                   return name == operation_id_name ? to_string(record.operation_id) : record.request->tenant;
                 });
}

}  // namespace onceward
