#include "core/form.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "core/ascii.hpp"
#include "core/encode.hpp"

namespace onceward {
namespace {

struct Pair {
  std::string_view name;
  std::string_view value;
  bool has_value;
  std::size_t order;  // as sent
};

// Decodes to the end of `arena`, whose capacity already suffices: earlier views stay valid.
std::optional<std::string_view> decode(std::string_view text, std::string& arena) {
  const std::size_t from = arena.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      arena += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    arena += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return std::string_view(arena).substr(from);
}

bool add_pair(std::string_view text, std::string& arena, std::vector<Pair>& pairs) {
  const std::size_t equals = text.find('=');
  const bool has_value = equals != std::string_view::npos;
  const auto name = decode(text.substr(0, equals), arena);
  const auto value = decode(has_value ? text.substr(equals + 1) : std::string_view(), arena);
  if (!name || !value) return false;
  pairs.push_back({*name, *value, has_value, pairs.size()});
  return true;
}

bool parse_pairs(std::string_view body, std::string& arena, std::vector<Pair>& pairs) {
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('&'), body.size());
    if (end > 0 && !add_pair(body.substr(0, end), arena, pairs)) return false;
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return true;
}

}  // namespace

bool canonicalize_form(std::string_view body, std::string& out) {
  std::string arena;
  arena.reserve(body.size());
  std::vector<Pair> pairs;
  if (!parse_pairs(body, arena, pairs)) return false;
  std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::tie(pair.name, pair.order); });
  for (const Pair& pair : pairs) {
    append_part(out, pair.name);
    out += pair.has_value ? '=' : '-';
    append_part(out, pair.value);
  }
  return true;
}

}  // namespace onceward
