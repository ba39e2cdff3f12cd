// The stored form of a Record: versioned, checksummed, self-delimiting. Every store that keeps records
// as bytes uses it. Pure; any thread. What cannot be read is Errc::unreadable, never a miss (I5).
//
//   byte 0      version (this code reads 1 to 3; it writes 2 only for what 1 cannot say, a probe target, and
//               3 only for marks, a reference or a result, so that a rolling upgrade keeps the other records
//               readable for the older release)
//   bytes 1-4   CRC32C of the version and of everything from byte 5 on
//   bytes 5-8   length of the whole encoding
//   bytes 9-40  scope
//   then        operation id, owner, epoch, state, fingerprint, evidence, times, request, response
//
// Numbers are little-endian; those in the tail are LEB128, signed ones zigzag.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "onceward/result.hpp"
#include "onceward/values.hpp"

namespace onceward {

constexpr std::uint8_t record_version = 3;

// Appends the encoding to `out`.
void encode_record(const Record& record, std::string& out);

// Reads exactly one encoding. Memory used is bounded by the length of `bytes`.
Result<Record> decode_record(std::string_view bytes);

// The length that the encoding at the start of `bytes` says it has, or 0 when it has no head.
std::size_t encoded_length(std::string_view bytes);

}  // namespace onceward
