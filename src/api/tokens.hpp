// Tokens of the API and what each may do. Only their hashes are kept. Made at start and at reload, then
// immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"

namespace onceward {

enum class Role : std::uint8_t { app = 1, read = 2, operate = 4 };
using Roles = std::uint8_t;

inline constexpr Roles every_role = 7;
// Whoever may change records may look at them too.
constexpr Roles roles_of(Role role) {
  return static_cast<Roles>(role) | (role == Role::operate ? static_cast<Roles>(Role::read) : Roles{0});
}
constexpr bool has_role(Roles roles, Role role) { return (roles & static_cast<Roles>(role)) != 0; }
std::optional<Role> role_from_string(std::string_view text);

// Whom a token stands for.
struct Principal {
  std::string name;
  Roles roles = 0;
};

class Tokens {
 public:
  void add(std::string name, Roles roles, const Sha256Bytes& token_hash);
  bool empty() const { return entries_.empty(); }

  // Takes the same time whether and where a token is found. One token may have several entries: their
  // roles add up, under the first one's name.
  std::optional<Principal> find(std::string_view token) const;

 private:
  struct Entry {
    std::string name;
    Roles roles;
    Sha256Bytes hash;
  };
  std::vector<Entry> entries_;
};

// The token of "Authorization: Bearer …"; nothing for anything else.
std::optional<std::string_view> bearer_token(std::string_view authorization);

}  // namespace onceward
