#include "api/tokens.hpp"

#include <openssl/crypto.h>

#include "http/head.hpp"

namespace onceward {

std::optional<Role> role_from_string(std::string_view text) {
  if (text == "app") return Role::app;
  if (text == "read") return Role::read;
  if (text == "operate") return Role::operate;
  return std::nullopt;
}

void Tokens::add(std::string name, Roles roles, const Sha256Bytes& token_hash) {
  entries_.push_back({std::move(name), roles, token_hash});
}

std::optional<Principal> Tokens::find(std::string_view token) const {
  const Sha256Bytes hash = sha256(token);
  const Entry* first = nullptr;
  Roles roles = 0;
  for (const Entry& entry : entries_) {
    const bool same = CRYPTO_memcmp(entry.hash.data(), hash.data(), hash.size()) == 0;
    if (same && !first) first = &entry;
    roles = static_cast<Roles>(roles | (same ? entry.roles : 0));
  }
  if (!first) return std::nullopt;
  return Principal{first->name, roles};
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "Bearer ";
  if (authorization.size() <= scheme.size()) return std::nullopt;
  if (!http::same_name(authorization.substr(0, scheme.size()), scheme)) return std::nullopt;
  authorization.remove_prefix(scheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  if (authorization.empty()) return std::nullopt;
  return authorization;
}

}  // namespace onceward
