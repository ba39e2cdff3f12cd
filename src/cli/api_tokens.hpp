// The API's tokens: read from `api.token_file`, or one that is made at the first start and kept.
#pragma once

#include <string>
#include <string_view>

#include "api/tokens.hpp"
#include "onceward/executor.hpp"
#include "onceward/result.hpp"

namespace onceward::cli {

// One token with every role, or YAML entries {name, role, sha256}. Errc::invalid says what is wrong.
Result<Tokens> tokens_from_text(std::string_view text);
Result<Tokens> tokens_from_file(const std::string& path);

// The one token of a file as a client sends it; Errc::invalid for a file of hashes.
Result<std::string> token_from_file(const std::string& path);

// `folder`/admin.token: read, or made with mode 0600 and synced.
Result<std::string> kept_admin_token(const std::string& folder, Random& random);
std::string new_admin_token(Random& random);

// A file that others than its owner can read.
bool is_readable_by_others(const std::string& path);

Tokens only_admin(std::string_view token);

}  // namespace onceward::cli
