#include "messaging/webhook_signature.hpp"

#include <optional>

#include "base/base64.hpp"
#include "base/sha256.hpp"

namespace onceward::messaging {

Result<std::string> webhook_secret(std::string_view text) {
  constexpr std::string_view prefix = "whsec_";
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  std::string secret(text);
  if (text.starts_with(prefix)) {
    std::optional<std::string> decoded = from_base64(text.substr(prefix.size()));
    if (!decoded) return Error{Errc::invalid, "what follows whsec_ is not base64"};
    secret = std::move(*decoded);
  }
  if (secret.size() < 16) return Error{Errc::invalid, "the secret has fewer than 16 bytes"};
  return secret;
}

std::string webhook_signature(std::string_view secret, std::string_view id, std::int64_t unix_seconds,
                              std::string_view body) {
  std::string signed_text(id);
  signed_text.append(".").append(std::to_string(unix_seconds)).append(".").append(body);
  const Sha256Bytes mac = hmac_sha256(secret, signed_text);
  return "v1," + to_base64({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

}  // namespace onceward::messaging
