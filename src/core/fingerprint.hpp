// Fingerprint: which request a key stands for, as SHA-256 over the request's length-prefixed parts and
// its canonical body (CONTRACT 3). Pure functions with scratch memory per thread; a compiled policy is
// immutable and may be shared between threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_pointer.hpp"
#include "core/json_value.hpp"
#include "core/policy.hpp"
#include "onceward/result.hpp"
#include "onceward/values.hpp"

namespace onceward {

inline constexpr std::uint16_t fingerprint_version = 1;  // what new records get

class CompiledFingerprintPolicy {
 public:
  CompiledFingerprintPolicy() = default;  // the default policy: canonical, everything counts
  // Errc::invalid when `ignore` or `include` has something that is not a JSON pointer.
  static Result<CompiledFingerprintPolicy> compile(const FingerprintPolicy& policy);

  FingerprintMode mode() const { return mode_; }
  bool query() const { return query_; }
  const PointerSet& pointers() const { return pointers_; }

 private:
  FingerprintMode mode_ = FingerprintMode::canonical;
  bool query_ = true;
  PointerSet pointers_;
};

struct FingerprintInput {
  std::string_view method;
  std::string_view operation;
  std::string_view path;
  std::string_view query;  // without "?"
  std::string_view content_type;
  std::string_view body;
  // The lines of the headers that the policy names, already picked, in the order they were sent.
  std::span<const std::pair<std::string_view, std::string_view>> headers;
};

struct FingerprintResult {
  Fingerprint fingerprint;
  std::vector<Leaf> leaves;  // sorted by pointer; empty unless the body is JSON within the limits
};

// `leaf_key` is the record's scope: the same value has different leaf digests in different records.
// Errc::invalid for a version that this build does not know.
Result<FingerprintResult> fingerprint(std::uint16_t version, const FingerprintInput& input,
                                      const CompiledFingerprintPolicy& policy, const Scope& leaf_key);

// Pointers of the leaves that changed, appeared or disappeared, sorted. Both lists must be sorted and
// made with the same leaf key. Nothing is named when either is empty: its leaves are then not known.
std::vector<std::string> changed_pointers(std::span<const Leaf> stored, std::span<const Leaf> now);

}  // namespace onceward
