// CRC32C (Castagnoli), the checksum of everything that Onceward writes to disk. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace onceward {

// Continues `seed` (the checksum of what came before, 0 at the start) over `bytes`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

// The same without the processor's instruction, so that a test can compare the two.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t seed = 0);

}  // namespace onceward
