// Any bytes as a JSON body. Canonical bytes are written back as JSON by a decoder of their own: that
// they can be decoded proves them unambiguous, and canonicalising the result must give them again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "core/json_canonical.hpp"
#include "core/json_value.hpp"

using namespace onceward;

namespace {

class Decoder {
 public:
  explicit Decoder(std::string_view canonical) : rest_(canonical) {}

  std::string text() {
    value();
    ONCEWARD_ASSERT(rest_.empty());
    return std::move(out_);
  }

 private:
  char take() {
    ONCEWARD_ASSERT(!rest_.empty());
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take());
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  }

  std::string_view part() {
    const std::uint64_t size = varint();
    ONCEWARD_ASSERT(size <= rest_.size());
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }

  void value() {
    switch (take()) {
      case 'n':
        out_ += "null";
        return;
      case 't':
        out_ += "true";
        return;
      case 'f':
        out_ += "false";
        return;
      case 's':
        string(part());
        return;
      case 'd':
        number();
        return;
      case 'a':
        container('[', ']', false);
        return;
      case 'o':
        container('{', '}', true);
        return;
      default:
        ONCEWARD_ASSERT(false);
    }
  }

  void container(char open, char close, bool is_object) {
    out_ += open;
    for (bool first = true; rest_.empty() || rest_.front() != 'e'; first = false) {
      if (!first) out_ += ',';
      if (is_object) {
        ONCEWARD_ASSERT(take() == 'm');
        string(part());
        out_ += ':';
      }
      value();
    }
    take();
    out_ += close;
  }

  void number() {
    if (take() == '-') out_ += '-';
    const std::uint64_t zigzag = varint();
    const auto exponent = static_cast<std::int64_t>(zigzag >> 1 ^ (~(zigzag & 1) + 1));
    const std::string_view digits = part();
    out_ += digits.empty() ? "0" : digits;
    out_ += "e" + std::to_string(exponent);
  }

  void string(std::string_view text) {
    constexpr char hex[] = "0123456789abcdef";
    out_ += '"';
    for (char c : text) {
      if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') {
        out_ += c;
        continue;
      }
      out_ += "\\u00";
      out_ += hex[c >> 4 & 15];
      out_ += hex[c & 15];
    }
    out_ += '"';
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const SipKey key{1, 2};
  std::string canonical, again;
  std::vector<Leaf> leaves, leaves_again;
  if (!canonicalize_json(body, {}, key, canonical, leaves)) {
    ONCEWARD_ASSERT(canonical.empty() && leaves.empty());
    return 0;
  }
  ONCEWARD_ASSERT(leaves.size() <= leaves_max);
  ONCEWARD_ASSERT(canonicalize_json(Decoder(canonical).text(), {}, key, again, leaves_again));
  ONCEWARD_ASSERT(canonical == again);
  ONCEWARD_ASSERT(leaves == leaves_again);
  for (const Leaf& leaf : leaves) {
    const auto value = json_value_at(body, leaf.pointer);
    ONCEWARD_ASSERT(value || value.error().code == Errc::invalid);  // every leaf can be found again
  }
  return 0;
}
