#include "core/fingerprint.hpp"

#include <algorithm>
#include <cstring>

#include "base/sha256.hpp"
#include "core/ascii.hpp"
#include "core/encode.hpp"
#include "core/form.hpp"
#include "core/json_canonical.hpp"
#include "core/media_type.hpp"
#include "core/multipart.hpp"

namespace onceward {
namespace {

constexpr std::size_t scratch_bytes_max = std::size_t{4} << 20;

// Which form the body was hashed in: a raw body can never meet a canonical one.
constexpr char raw_form = 'r';
constexpr char json_form = 'j';
constexpr char form_form = 'f';
constexpr char multipart_form = 'm';

// One request after another is mostly of the same type, and what that means has parts that are allocated.
const MediaType& media_type_of(std::string_view content_type) {
  struct Last {
    std::string content_type;
    MediaType media;
  };
  thread_local Last last{"", parse_media_type("")};
  if (last.content_type != content_type) last = {std::string(content_type), parse_media_type(content_type)};
  return last.media;
}

// The scope's last 16 bytes: its first bytes are public, as part of the operation id.
SipKey sip_key(const Scope& scope) {
  SipKey key;
  std::memcpy(&key.k0, scope.data.data() + 16, sizeof key.k0);
  std::memcpy(&key.k1, scope.data.data() + 24, sizeof key.k1);
  return key;
}

void append_headers(const FingerprintInput& input, std::string& out) {
  append_varint(out, input.headers.size());
  for (const auto& [name, value] : input.headers) {
    append_varint(out, name.size());
    std::ranges::transform(name, std::back_inserter(out), ascii_lower);
    append_part(out, trim_ows(value));
  }
}

void append_raw_body(const FingerprintInput& input, const MediaType& media, BodyKind kind, std::string& out) {
  append_part(out, media.type);
  // JSON and forms that fell back have the same parameters dropped; raw multipart keeps its boundary.
  const bool drop = kind == BodyKind::json || kind == BodyKind::form;
  const std::size_t parameters = std::min(input.content_type.find(';'), input.content_type.size());
  append_part(out, drop ? std::string_view() : trim_ows(input.content_type.substr(parameters)));
  out += raw_form;
  out += input.body;
}

void append_canonical_type(const MediaType& media, char form, std::string& out) {
  append_part(out, media.type);
  append_part(out, media.kind == BodyKind::multipart ? std::string_view(media.parameters) : "");
  out += form;
}

// False when the body has no canonical form; `out` may then have to be cut back.
bool append_canonical_body(const FingerprintInput& input, const MediaType& media, BodyKind kind,
                           const PointerSet& pointers, const SipKey& leaf_key, std::string& out,
                           std::vector<Leaf>& leaves) {
  switch (kind) {
    case BodyKind::json:
      append_canonical_type(media, json_form, out);
      return canonicalize_json(input.body, pointers, leaf_key, out, leaves);
    case BodyKind::form:
      append_canonical_type(media, form_form, out);
      return canonicalize_form(input.body, out);
    case BodyKind::multipart:
      append_canonical_type(media, multipart_form, out);
      return canonicalize_multipart(input.body, media.boundary, out);
    case BodyKind::other:
      break;
  }
  return false;
}

FingerprintResult fingerprint_1(const FingerprintInput& input, const CompiledFingerprintPolicy& policy,
                                const Scope& leaf_key) {
  thread_local std::string text;
  text.assign("onceward fingerprint 1\n");
  append_part(text, input.method);
  append_part(text, input.operation);
  append_part(text, input.path);
  text += policy.query() ? '?' : '-';
  append_part(text, policy.query() ? input.query : std::string_view());
  append_headers(input, text);

  FingerprintResult result;
  const MediaType& media = media_type_of(input.content_type);
  const BodyKind kind = policy.mode() == FingerprintMode::raw ? BodyKind::other : media.kind;
  const std::size_t before_body = text.size();
  if (!append_canonical_body(input, media, kind, policy.pointers(), sip_key(leaf_key), text, result.leaves)) {
    text.resize(before_body);
    append_raw_body(input, media, kind, text);
  }
  result.fingerprint = {1, Digest{sha256(text)}};
  if (text.capacity() > scratch_bytes_max) std::string().swap(text);
  return result;
}

}  // namespace

Result<CompiledFingerprintPolicy> CompiledFingerprintPolicy::compile(const FingerprintPolicy& policy) {
  auto pointers = PointerSet::compile(policy.ignore, policy.include);
  if (!pointers) return pointers.error();
  CompiledFingerprintPolicy compiled;
  compiled.mode_ = policy.mode;
  compiled.query_ = policy.query;
  compiled.pointers_ = *std::move(pointers);
  return compiled;
}

Result<FingerprintResult> fingerprint(std::uint16_t version, const FingerprintInput& input,
                                      const CompiledFingerprintPolicy& policy, const Scope& leaf_key) {
  if (version != fingerprint_version)
    return Error{Errc::invalid, "unknown fingerprint version " + std::to_string(version)};
  return fingerprint_1(input, policy, leaf_key);
}

std::vector<std::string> changed_pointers(std::span<const Leaf> stored, std::span<const Leaf> now) {
  std::vector<std::string> changed;
  if (stored.empty() || now.empty()) return changed;
  auto old_leaf = stored.begin();
  auto new_leaf = now.begin();
  while (old_leaf != stored.end() || new_leaf != now.end()) {
    if (new_leaf == now.end() || (old_leaf != stored.end() && old_leaf->pointer < new_leaf->pointer)) {
      changed.push_back((old_leaf++)->pointer);
    } else if (old_leaf == stored.end() || new_leaf->pointer < old_leaf->pointer) {
      changed.push_back((new_leaf++)->pointer);
    } else {
      if (old_leaf->digest != new_leaf->digest) changed.push_back(new_leaf->pointer);
      ++old_leaf;
      ++new_leaf;
    }
  }
  return changed;
}

}  // namespace onceward
