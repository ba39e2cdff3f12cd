#include "http/hop_by_hop.hpp"

#include <algorithm>

#include "http/chars.hpp"

namespace onceward::http {
namespace {

// True when the list names something that is not hop-by-hop anyway.
bool names_others(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view token = trim(list.substr(0, comma));
    if (!token.empty() && !same_name(token, "close") && !is_hop_by_hop(token)) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

bool is_hop_by_hop(std::string_view name) {
  switch (name.size()) {
    case 2:
      return same_name(name, "TE");
    case 7:
      return same_name(name, "Trailer") || same_name(name, "Upgrade");
    case 10:
      return same_name(name, "Connection") || same_name(name, "Keep-Alive");
    case 16:
      return same_name(name, "Proxy-Connection");
    case 17:
      return same_name(name, "Transfer-Encoding");
    case 18:
      return same_name(name, "Proxy-Authenticate");
    case 19:
      return same_name(name, "Proxy-Authorization");
    default:
      return false;
  }
}

HopByHop::HopByHop(const HeaderList& headers, std::span<const std::string_view> protected_names)
    : headers_(headers), protected_names_(protected_names) {
  for (const HeaderView& field : headers)
    if (field.name.size() == 10 && same_name(field.name, "Connection"))
      names_others_ = names_others_ || names_others(field.value);
}

bool HopByHop::drops(std::string_view name) const {
  if (is_hop_by_hop(name)) return true;
  if (!names_others_ || !has_token(headers_, "Connection", name)) return false;
  // Host is framing's: nobody may take it away either.
  if (same_name(name, "Host")) return false;
  return std::ranges::none_of(protected_names_, [&](std::string_view kept) { return same_name(kept, name); });
}

}  // namespace onceward::http
