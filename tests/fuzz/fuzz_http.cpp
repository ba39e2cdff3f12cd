// Any bytes as a request: refused, or forwarded as exactly one well-formed request; and a body comes out the
// same however its bytes are cut.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "http/body_decoder.hpp"
#include "http/parser.hpp"
#include "http/request_writer.hpp"

using namespace onceward;
using namespace onceward::http;

namespace {

struct Decoded {
  std::string body;
  bool ended = false;
  bool bad = false;
  bool operator==(const Decoded&) const = default;
};

// Feeds `input` in pieces of at most `step` bytes beyond what is left undone.
Decoded decode(Body framing, std::string_view input, std::size_t step) {
  Decoded decoded;
  BodyDecoder decoder;
  decoder.reset(framing);
  std::size_t begin = 0;
  std::size_t end = 0;
  while (!decoder.ended()) {
    const BodyDecoder::Step next = decoder.next(input.substr(begin, end - begin));
    ONCEWARD_ASSERT(next.consumed <= end - begin);
    decoded.body.append(next.data);
    begin += next.consumed;
    if (next.status == BodyDecoder::Step::Status::bad) {
      decoded.bad = true;
      break;
    }
    if (next.status == BodyDecoder::Step::Status::end) break;
    if (next.status == BodyDecoder::Step::Status::need_more) {
      if (end == input.size()) break;
      end = std::min(input.size(), end + step);
    }
  }
  decoded.ended = decoder.ended();
  return decoded;
}

void check_forwarding(const RequestHead& request) {
  std::string forwarded;
  write_request_head(forwarded, request, request.body, {.peer_address = "127.0.0.1"});
  RequestHead again;
  const HeadParse parsed = parse_request_head(forwarded, again);
  ONCEWARD_ASSERT(parsed.status == HeadParse::Status::done);
  ONCEWARD_ASSERT(parsed.bytes == forwarded.size());
  ONCEWARD_ASSERT(again.method == request.method);
  ONCEWARD_ASSERT(again.target == request.target);
  // An absent body may be written as one of length 0.
  ONCEWARD_ASSERT(again.body == request.body || (again.body.empty() && request.body.empty()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RequestHead request;
  const HeadParse parsed = parse_request_head(input, request);
  if (parsed.status == HeadParse::Status::done) {
    ONCEWARD_ASSERT(parsed.bytes <= size);
    check_forwarding(request);
    const std::string_view rest = input.substr(parsed.bytes);
    const Decoded whole = decode(request.body, rest, rest.size() + 1);
    const Decoded cut = decode(request.body, rest, 1);
    // Pieces may have been handed out before the flaw is seen, so only what is not bad must be the same.
    ONCEWARD_ASSERT(whole.bad == cut.bad);
    ONCEWARD_ASSERT(whole.bad || whole == cut);
  }
  ResponseHead response;
  (void)parse_response_head(input, "POST", response);
  return 0;
}
