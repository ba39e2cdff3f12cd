// SipHash-2-4: a short keyed hash, here for leaf digests. Keyed, so that a stored digest cannot be
// compared between records or looked up in a table of likely values. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace onceward {

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

std::uint64_t siphash24(const SipKey& key, std::string_view data);

}  // namespace onceward
