#include "stores/postgres/leaves.hpp"

#include "stores/postgres/binary.hpp"

namespace onceward::postgres {

std::string encode_leaves(const std::vector<Leaf>& leaves) {
  std::string bytes;
  for (const Leaf& leaf : leaves) {
    append_number(bytes, static_cast<std::uint32_t>(leaf.pointer.size()));
    bytes += leaf.pointer;
    append_number(bytes, leaf.digest);
  }
  return bytes;
}

std::optional<std::vector<Leaf>> decode_leaves(std::string_view bytes) {
  std::vector<Leaf> leaves;
  while (!bytes.empty()) {
    if (bytes.size() < 12) return std::nullopt;
    const std::size_t length = read_number<std::uint32_t>(bytes);
    if (bytes.size() - 12 < length) return std::nullopt;
    leaves.push_back(
        {std::string(bytes.substr(4, length)), read_number<std::uint64_t>(bytes.substr(4 + length))});
    bytes.remove_prefix(12 + length);
  }
  return leaves;
}

}  // namespace onceward::postgres
