#include "proxy/routes.hpp"

#include <algorithm>

namespace onceward {
namespace {

constexpr std::string_view token_characters =
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

Error invalid(std::string message) { return {Errc::invalid, std::move(message)}; }

bool is_name(std::string_view name) {
  constexpr std::string_view allowed = "_-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return !name.empty() && name.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_path_character(char c) { return c > ' ' && c < '\x7f' && c != '?' && c != '#'; }

// The part up to the next '/', which is removed from `path` together with it.
std::string_view take_segment(std::string_view& path, bool& last) {
  const std::size_t slash = path.find('/');
  last = slash == std::string_view::npos;
  const std::string_view segment = path.substr(0, slash);
  path.remove_prefix(last ? path.size() : slash + 1);
  return segment;
}

}  // namespace

Result<RoutePattern> RoutePattern::parse(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return invalid("expected METHOD /path, such as POST /orders");
  const std::string_view method = text.substr(0, space);
  std::string_view path = text.substr(space + 1);
  if (method.empty() || method.find_first_not_of(token_characters) != std::string_view::npos)
    return invalid("the method is not a valid HTTP method");
  if (method != "*" && std::ranges::any_of(method, [](char c) { return c >= 'a' && c <= 'z'; }))
    return invalid("methods are case-sensitive: write the method in capitals");
  if (!path.starts_with('/')) return invalid("the path must begin with '/'");
  if (!std::ranges::all_of(path, is_path_character))
    return invalid("the path may not contain spaces, a query, a fragment or bytes outside ASCII");

  RoutePattern pattern;
  if (method != "*") pattern.method_ = method;
  path.remove_prefix(1);
  std::vector<std::string_view> names;
  for (bool last = false; !last;) {
    const std::string_view segment = take_segment(path, last);
    if (segment.find_first_of("{}") == std::string_view::npos) {
      pattern.segments_.push_back({Kind::literal, std::string(segment)});
      continue;
    }
    if (!segment.starts_with('{') || !segment.ends_with('}'))
      return invalid("a placeholder must be a whole segment, such as /orders/{id}");
    std::string_view name = segment.substr(1, segment.size() - 2);
    const bool rest = name.ends_with('*');
    if (rest) name.remove_suffix(1);
    if (!is_name(name)) return invalid("a placeholder needs a name of letters, digits, '_' and '-'");
    if (rest && !last) return invalid("{" + std::string(name) + "*} must be the last segment");
    if (std::ranges::find(names, name) != names.end())
      return invalid("the placeholder {" + std::string(name) + "} appears twice");
    names.push_back(name);
    pattern.segments_.push_back({rest ? Kind::rest : Kind::segment, {}});
  }
  return pattern;
}

bool RoutePattern::matches(std::string_view method, std::string_view path) const {
  if (!method_.empty() && method_ != method) return false;
  if (!path.starts_with('/')) return false;
  path.remove_prefix(1);
  bool last = false;
  for (const Segment& expected : segments_) {
    if (last) return false;
    if (expected.kind == Kind::rest) return !path.empty();
    const std::string_view segment = take_segment(path, last);
    if (expected.kind == Kind::segment ? segment.empty() : segment != expected.text) return false;
  }
  return last;
}

Result<Routes> Routes::compile(const std::vector<std::string>& patterns) {
  Routes routes;
  for (const std::string& text : patterns) {
    Result<RoutePattern> pattern = RoutePattern::parse(text);
    if (!pattern) return invalid(text + ": " + pattern.error().message);
    routes.patterns_.push_back(*std::move(pattern));
  }
  return routes;
}

std::optional<std::size_t> Routes::find(std::string_view method, std::string_view path) const {
  path = path.substr(0, path.find('?'));
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i].matches(method, path)) return i;
  }
  return std::nullopt;
}

}  // namespace onceward
