#include "cli/api_tokens.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "config/yaml_node.hpp"

namespace onceward::cli {

using namespace config;
namespace {

constexpr std::size_t token_file_bytes_max = std::size_t{1} << 20;

Error invalid(std::string why) { return {Errc::invalid, std::move(why)}; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return invalid(path + ": cannot be read: " + std::strerror(errno));
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.size() > token_file_bytes_max) return invalid(path + ": is larger than 1 MiB");
  return text;
}

Result<Done> add_entry(const YamlNode& node, Tokens& tokens) {
  const auto text_of = [&](std::string_view name) {
    const YamlEntry* entry = node.find(name);
    return entry && entry->value.kind == YamlNode::Kind::scalar ? entry->value.text : std::string();
  };
  const std::string where = "line " + std::to_string(node.place.line) + ": ";
  if (node.kind != YamlNode::Kind::map || node.entries.size() != 3)
    return invalid(where + "expected {name: …, role: …, sha256: …}");
  const std::string name = text_of("name");
  if (name.empty() || name.size() > 128) return invalid(where + "the name is missing or too long");
  const std::optional<Role> role = role_from_string(text_of("role"));
  if (!role) return invalid(where + "the role must be app, read or operate");
  Sha256Bytes hash;
  if (!from_hex(text_of("sha256"), hash)) return invalid(where + "sha256 must be 64 hexadecimal digits");
  tokens.add(name, roles_of(*role), hash);
  return Done{};
}

// A list, or one {…} per line, with or without a dash.
Result<Tokens> tokens_from_entries(std::string_view text) {
  std::string list;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (trimmed(line).starts_with('{')) list += "- ";
    list.append(line).append("\n");
  }
  std::vector<YamlError> errors;
  const YamlNode root = parse_yaml(list, errors);
  if (!errors.empty()) {
    const YamlError& first = errors.front();
    return invalid("line " + std::to_string(first.place.line) + ": " + first.message);
  }
  if (root.kind != YamlNode::Kind::list || root.items.empty())
    return invalid("expected one token, or a list of {name: …, role: …, sha256: …}");
  Tokens tokens;
  for (const YamlNode& item : root.items) {
    if (const Result<Done> added = add_entry(item, tokens); !added) return added.error();
  }
  return tokens;
}

bool is_one_token(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n{}") == text.npos;
}

Result<std::string> write_token(const std::string& path, const std::string& token) {
  const auto failed = [&] { return Error{Errc::refused, path + ": " + std::strerror(errno)}; };
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failed();
  const std::string line = token + "\n";
  const bool written =
      ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(fd) == 0;
  const Error error = written ? Error{} : failed();
  ::close(fd);
  if (written) return token;
  ::unlink(path.c_str());  // half a token would be read as one at the next start
  return error;
}

}  // namespace

Tokens only_admin(std::string_view token) {
  Tokens tokens;
  tokens.add("admin", every_role, sha256(token));
  return tokens;
}

Result<Tokens> tokens_from_text(std::string_view text) {
  const std::string_view inside = trimmed(text);
  if (inside.empty()) return invalid("is empty");
  if (is_one_token(inside)) return only_admin(inside);
  return tokens_from_entries(text);
}

Result<Tokens> tokens_from_file(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  Result<Tokens> tokens = tokens_from_text(*text);
  if (!tokens) return invalid(path + ": " + tokens.error().message);
  return tokens;
}

Result<std::string> token_from_file(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  const std::string_view token = trimmed(*text);
  if (!is_one_token(token))
    return invalid(path + ": has no token that could be sent, only hashes or nothing");
  return std::string(token);
}

std::string new_admin_token(Random& random) {
  std::array<std::uint8_t, 32> bytes;
  random.fill(bytes);
  return to_base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<std::string> kept_admin_token(const std::string& folder, Random& random) {
  const std::string path = folder + "/admin.token";
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0) return token_from_file(path);
  return write_token(path, new_admin_token(random));
}

bool is_readable_by_others(const std::string& path) {
  struct stat there{};
  return ::stat(path.c_str(), &there) == 0 && (there.st_mode & 077) != 0;
}

}  // namespace onceward::cli
