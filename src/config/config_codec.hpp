// Codecs: how one value is read from configuration text and written back so that it reads the same.
// Pure; `read` gives an empty string or what is wrong, in words for the person who wrote the file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/yaml_node.hpp"

namespace onceward::config {

struct BoolCodec {
  std::string read(const YamlNode& node, bool& out) const;
  YamlNode write(bool value) const;
};

struct CountCodec {  // a whole number
  std::size_t min = 0;
  std::size_t max = std::numeric_limits<std::uint32_t>::max();
  std::string read(const YamlNode& node, std::size_t& out) const;
  YamlNode write(std::size_t value) const;
};

struct DurationCodec {
  Duration min{1};
  Duration max = std::chrono::days(36500);
  std::string read(const YamlNode& node, Duration& out) const;
  YamlNode write(Duration value) const;
};

struct SizeCodec {
  std::size_t min = 1;
  std::size_t max = std::size_t{1} << 30;
  std::string read(const YamlNode& node, std::size_t& out) const;
  YamlNode write(std::size_t value) const;
};

struct StatusCodec {  // one final status code
  std::vector<int> only = {};
  std::string read(const YamlNode& node, int& out) const;
  YamlNode write(int value) const;
};

struct TextCodec {
  std::size_t max_bytes = 4096;
  std::string read(const YamlNode& node, std::string& out) const;
  YamlNode write(const std::string& value) const { return YamlNode::string(value); }
};

struct HeaderNameCodec {
  std::string read(const YamlNode& node, std::string& out) const;
  YamlNode write(const std::string& value) const { return YamlNode::string(value); }
};

struct PointerCodec {  // JSON pointer to something inside the document
  std::string read(const YamlNode& node, std::string& out) const;
  YamlNode write(const std::string& value) const { return YamlNode::string(value); }
};

struct MatchCodec {
  std::string read(const YamlNode& node, std::string& out) const;
  YamlNode write(const std::string& value) const { return YamlNode::string(value); }
};

struct WordCodec {  // one of a few words, kept as text
  std::span<const std::string_view> words;
  std::string read(const YamlNode& node, std::string& out) const;
  YamlNode write(const std::string& value) const { return YamlNode::string(value); }
};

struct UriCodec {  // scheme://…
  std::span<const std::string_view> schemes;
  std::string read(const YamlNode& node, std::string& out) const;
  YamlNode write(const std::string& value) const { return YamlNode::string(value); }
};

struct AddressCodec {
  std::string read(const YamlNode& node, Address& out) const;
  YamlNode write(const Address& value) const;
};

struct HttpUrlCodec {
  bool target = false;  // whether a path and a query may follow
  std::string read(const YamlNode& node, HttpUrl& out) const;
  YamlNode write(const HttpUrl& value) const;
};

struct StoreCodec {
  bool cache = false;  // only redis
  std::string read(const YamlNode& node, StoreUri& out) const;
  YamlNode write(const StoreUri& value) const { return YamlNode::string(value.text); }
};

struct IdentityCodec {
  bool tenant = false;  // tenants come from a header or a token only
  std::string read(const YamlNode& node, IdentityFrom& out) const;
  YamlNode write(const IdentityFrom& value) const;
};

struct RequestLineCodec {
  std::string read(const YamlNode& node, RequestLine& out) const;
  YamlNode write(const RequestLine& value) const;
};

struct ConsumerTargetCodec {
  std::string read(const YamlNode& node, ConsumerTarget& out) const;
  YamlNode write(const ConsumerTarget& value) const;
};

struct MessageIdCodec {  // message-id, header:NAME, json:/pointer or content
  std::string read(const YamlNode& node, std::string& out) const;
  YamlNode write(const std::string& value) const { return YamlNode::string(value); }
};

// "expected a, b or c, found 'x'", with the nearest word suggested.
std::string expected_one_of(std::span<const std::string_view> words, std::string_view found);

template <class E, std::size_t N>
struct EnumCodec {
  std::array<std::string_view, N> words;  // in the order of the enumerators
  std::string read(const YamlNode& node, E& out) const {
    const auto found = std::ranges::find(words, node.text);
    if (found == words.end()) return expected_one_of(words, node.text);
    out = static_cast<E>(found - words.begin());
    return {};
  }
  YamlNode write(E value) const { return YamlNode::string(words[static_cast<std::size_t>(value)]); }
};

template <class E, class... Words>
EnumCodec<E, sizeof...(Words)> one_of(Words... words) {
  return {{std::string_view(words)...}};
}

bool is_header_name(std::string_view text);
std::string check_pointer(std::string_view text);  // empty: it is one

}  // namespace onceward::config
