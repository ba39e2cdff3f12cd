#include "core/request_marks.hpp"

#include <string>

#include "core/encode.hpp"
#include "core/json_canonical.hpp"
#include "core/json_slice.hpp"
#include "core/scope.hpp"

namespace onceward {
namespace {

// What a mark's hash is made of beside its rule. No key has such a first byte, so that no record can have the
// scope of a mark.
constexpr char not_a_key = '\0';

// False when the pointer leads nowhere, or to null, which says as much.
bool append_value(std::string& parts, std::string_view body, std::string_view pointer) {
  const Result<std::string_view> slice = json_slice(body, pointer);
  if (!slice || *slice == "null") return false;
  std::string canonical;
  std::vector<Leaf> leaves;
  if (!canonicalize_json(*slice, {}, {}, canonical, leaves)) return false;
  append_part(parts, canonical);
  return true;
}

std::optional<Mark> unique_mark(const UniquePolicy& policy, const MarkedRequest& request,
                                std::string_view secret) {
  std::string values(1, not_a_key);
  for (const std::string& pointer : policy.fields) {
    if (!append_value(values, request.body, pointer)) return std::nullopt;
  }
  const Scope scope =
      scope_of(request.tenant, std::nullopt, "onceward.unique " + policy.name, values, secret);
  return Mark{.kind = MarkKind::unique, .scope = scope, .keep = policy.keep, .refuses = true};
}

std::optional<Mark> suspect_mark(const SuspectPolicy& policy, const MarkedRequest& request,
                                 std::string_view secret) {
  std::string values(1, not_a_key);
  bool any = false;
  for (const std::string& pointer : policy.fields) {
    std::string value;
    const bool there = append_value(value, request.body, pointer);
    any = any || there;
    values += there ? '\1' : '\0';
    values += value;
  }
  if (!any) return std::nullopt;
  const Scope scope = scope_of(request.tenant, request.caller,
                               "onceward.suspect " + std::string(request.operation), values, secret);
  const bool refuses = policy.action != SuspectAction::flag && !request.confirmed;
  return Mark{.kind = MarkKind::suspect, .scope = scope, .keep = policy.within, .refuses = refuses};
}

}  // namespace

std::vector<Mark> marks_of(const Policy& policy, const MarkedRequest& request, std::string_view secret) {
  std::vector<Mark> marks;
  if (policy.unique) {
    if (const std::optional<Mark> mark = unique_mark(*policy.unique, request, secret)) marks.push_back(*mark);
  }
  if (policy.suspect) {
    if (const std::optional<Mark> mark = suspect_mark(*policy.suspect, request, secret))
      marks.push_back(*mark);
  }
  return marks;
}

}  // namespace onceward
