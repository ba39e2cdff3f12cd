// The content type as far as a fingerprint cares: which canonical form the body has, and the text that
// counts. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onceward {

enum class BodyKind : std::uint8_t { json, form, multipart, other };

struct MediaType {
  BodyKind kind = BodyKind::other;
  std::string type;        // "application/json", lower case, no white space
  std::string parameters;  // what is behind the type, without multipart's boundary
  std::string boundary;    // multipart
};

// Never fails: what is not a media type is `other`, and its whole text counts.
MediaType parse_media_type(std::string_view content_type);

}  // namespace onceward
