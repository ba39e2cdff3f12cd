// Filter: whether a sealed segment may hold a scope, from memory. A split-block Bloom filter over the
// scope's prefix: 28 bits a record, one cache line a question, about 1 in 50 000 wrong yeses. Immutable
// once filled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onceward::embedded {

inline std::uint64_t mixed(std::uint64_t prefix) {
  prefix = (prefix ^ (prefix >> 32)) * 0xd6e8feb86659fd93ull;
  prefix = (prefix ^ (prefix >> 32)) * 0xd6e8feb86659fd93ull;
  return prefix ^ (prefix >> 32);
}

class Filter {
 public:
  static constexpr std::size_t bits_per_record = 28;

  Filter() = default;
  explicit Filter(std::size_t records) : blocks_((records * bits_per_record + 511) / 512 + 1) {}

  // False when the bytes have no length that a filter can have.
  static bool from_bytes(std::string_view bytes, Filter& filter);
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(blocks_.data()), blocks_.size() * sizeof(Block)};
  }

  void add(std::uint64_t prefix) {
    const std::uint64_t hash = mixed(prefix);
    Block& block = blocks_[block_of(hash)];
    for (std::size_t i = 0; i < 8; ++i) block.words[i] |= bit_of(hash, i);
  }
  bool may_contain(std::uint64_t prefix) const {
    const std::uint64_t hash = mixed(prefix);
    const Block& block = blocks_[block_of(hash)];
    std::uint64_t missing = 0;
    for (std::size_t i = 0; i < 8; ++i) missing |= ~block.words[i] & bit_of(hash, i);
    return missing == 0;
  }
  void prefetch(std::uint64_t prefix) const { __builtin_prefetch(&blocks_[block_of(mixed(prefix))]); }

 private:
  struct alignas(64) Block {
    std::uint64_t words[8] = {};
  };

  std::size_t block_of(std::uint64_t hash) const {
    return static_cast<std::size_t>(((hash >> 32) * blocks_.size()) >> 32);
  }
  static std::uint64_t bit_of(std::uint64_t hash, std::size_t word) {
    constexpr std::uint32_t odd[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                      0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    return std::uint64_t{1} << ((static_cast<std::uint32_t>(hash) * odd[word]) >> 26);
  }

  std::vector<Block> blocks_;
};

inline bool Filter::from_bytes(std::string_view bytes, Filter& filter) {
  if (bytes.empty() || bytes.size() % sizeof(Block) != 0) return false;
  filter.blocks_.resize(bytes.size() / sizeof(Block));
  bytes.copy(reinterpret_cast<char*>(filter.blocks_.data()), bytes.size());
  return true;
}

}  // namespace onceward::embedded
