// Any bytes as a form: never a crash, and what does not matter changes nothing.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "core/form.hpp"

using namespace onceward;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  std::string canonical, padded, preceded, followed;
  const bool ok = canonicalize_form(body, canonical);
  ONCEWARD_ASSERT(canonicalize_form("&" + body + "&&", padded) == ok);
  ONCEWARD_ASSERT(canonical == padded);
  if (!ok) {
    ONCEWARD_ASSERT(canonical.empty());
    return 0;
  }
  // A name longer than the body is in no other pair, so its place does not matter; that it is there does.
  const std::string name = std::string(size + 1, '~') + "=1";
  ONCEWARD_ASSERT(canonicalize_form(name + "&" + body, preceded));
  ONCEWARD_ASSERT(canonicalize_form(body + "&" + name, followed));
  ONCEWARD_ASSERT(preceded == followed);
  ONCEWARD_ASSERT(preceded != canonical);
  return 0;
}
