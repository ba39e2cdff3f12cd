// Any bytes as a content type (first line) and a multipart body: never a crash, a failure leaves the
// output alone, and the same parts around one more part are told apart.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "core/media_type.hpp"
#include "core/multipart.hpp"

using namespace onceward;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), size);
  const MediaType media = parse_media_type(input.substr(0, line));
  ONCEWARD_ASSERT(media.kind == BodyKind::multipart || media.boundary.empty());

  // The boundary is short so that the fuzzer finds it often.
  const std::string body(input.substr(std::min(line + 1, size)));
  std::string canonical = "before";
  if (!canonicalize_multipart(body, "B", canonical)) {
    ONCEWARD_ASSERT(canonical == "before");
    return 0;
  }
  std::string more = "before";
  ONCEWARD_ASSERT(canonicalize_multipart("--B\r\nA: 1\r\n\r\n\r\n" + body, "B", more));
  ONCEWARD_ASSERT(more != canonical);
  ONCEWARD_ASSERT(more.ends_with(canonical.substr(6)));
  return 0;
}
