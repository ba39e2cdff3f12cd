// Which headers belong to one connection only and must not be passed on (RFC 9110, 7.6.1). Pure. Names
// that policy decisions are made from are protected: a Connection header cannot remove them.
#pragma once

#include <span>
#include <string_view>

#include "http/head.hpp"

namespace onceward::http {

bool is_hop_by_hop(std::string_view name);

class HopByHop {
 public:
  HopByHop(const HeaderList& headers, std::span<const std::string_view> protected_names);
  bool drops(std::string_view name) const;

 private:
  const HeaderList& headers_;
  std::span<const std::string_view> protected_names_;
  bool names_others_ = false;  // a Connection line has a token besides close, keep-alive and upgrade
};

}  // namespace onceward::http
