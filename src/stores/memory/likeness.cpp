#include "stores/memory/likeness.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.hpp"
#include "core/record_codec.hpp"

namespace onceward::memory {
namespace {

// Packed: the model's number, the length of the whole, the encoding's head with the scope as it is, and the
// rest as it is or as pairs of "so many bytes are the model's" and "these are not".
constexpr std::size_t head_bytes = 5;
constexpr std::size_t encoding_scope_at = 9;
constexpr std::size_t kept_bytes = encoding_scope_at + sizeof(Scope);
constexpr std::uint8_t no_model = 0xff;
// Larger ones are mostly their answer's body.
constexpr std::size_t largest_alike = 4096;

std::uint64_t load(const char* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::big ? std::byteswap(value) : value;
}

// How many of the first `count` bytes are the same; the last seven do not count.
std::size_t same_bytes(const char* one, const char* other, std::size_t count) {
  for (std::size_t at = 0;; at += 8) {
    if (count - at < 8) return at;
    if (const std::uint64_t differ = load(one + at) ^ load(other + at))
      return at + static_cast<std::size_t>(std::countr_zero(differ)) / 8;
  }
}

// How many come before eight that are the same: fewer are not worth a pair.
std::size_t other_bytes(const char* one, const char* other, std::size_t count) {
  for (std::size_t at = 0; count - at >= 8;) {
    const std::uint64_t differ = load(one + at) ^ load(other + at);
    if (differ == 0) return at;
    at += 8 - static_cast<std::size_t>(std::countl_zero(differ)) / 8;
    if (at > count) break;
  }
  return count;
}

char* put_number(char* out, std::size_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
  *out++ = static_cast<char>(value);
  return out;
}

char* put(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

std::size_t take_number(std::string_view& from) {
  std::size_t value = 0;
  for (unsigned shift = 0; !from.empty() && shift < 63; shift += 7) {
    const auto next = static_cast<std::uint8_t>(from.front());
    from.remove_prefix(1);
    value |= static_cast<std::size_t>(next & 0x7f) << shift;
    if (!(next & 0x80)) break;
  }
  return value;
}

// Behind at least eight bytes that are the same comes a pair of at most two bytes each: never twice the text.
char* put_differences(char* out, std::string_view text, std::string_view model) {
  const std::size_t common = std::min(text.size(), model.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t same = same_bytes(text.data() + at, model.data() + at, common - at);
    at += same;
    std::size_t others = other_bytes(text.data() + at, model.data() + at, common - at);
    if (at + others == common) others = text.size() - at;
    out = put_number(out, same);
    out = put_number(out, others);
    out = put(out, text.substr(at, others));
    at += others;
  }
  return out;
}

// The length is put in when it is known.
char* begin(char* packed, std::uint8_t model, std::string_view encoding) {
  *packed = static_cast<char>(model);
  return put(packed + head_bytes, encoding.substr(0, kept_bytes));
}

}  // namespace

Likeness::Model* Likeness::model_for(std::string_view encoding, std::uint64_t shape) {
  if (encoding.size() > largest_alike) return nullptr;
  Model* free = nullptr;
  const std::size_t first = (shape * 0x9e3779b97f4a7c15ull) >> 60;
  for (std::size_t i = 0; i < places_max; ++i) {
    Model& model = models_[(first + i) % models_max];
    if (model.users == 0) {
      if (!free) free = &model;
    } else if (model.shape == shape) {
      return &model;
    }
  }
  if (free) {
    *free = {std::string(encoding), shape, 0};
    bytes_ += encoding.size();
  }
  return free;
}

void Likeness::pack(std::string_view encoding, std::uint64_t shape, std::string& packed) {
  const std::string_view rest = encoding.substr(kept_bytes);
  Model* const model = model_for(encoding, shape);
  packed.resize_and_overwrite(head_bytes + 2 * encoding.size(), [&](char* bytes, std::size_t room) {
    const auto size_to = [bytes](const char* end) { return static_cast<std::size_t>(end - bytes); };
    std::size_t size = 0;
    if (model) {
      char* const end = begin(bytes, static_cast<std::uint8_t>(model - models_.data()), encoding);
      size = size_to(put_differences(end, rest, std::string_view(model->encoding).substr(kept_bytes)));
      ONCEWARD_ASSERT(size <= room);
      const bool is_alike = size < encoding.size() / 4 * 3;
      if (is_alike) ++model->users;
      if (model->users == 0) drop(*model);
      if (!is_alike) size = 0;
    }
    if (size == 0) size = size_to(put(begin(bytes, no_model, encoding), rest));
    const auto length = static_cast<std::uint32_t>(size);
    std::memcpy(bytes + 1, &length, sizeof length);
    return size;
  });
}

void Likeness::unpack(std::string_view packed, std::string& encoding) const {
  const auto number = static_cast<std::uint8_t>(packed[0]);
  encoding.assign(packed.substr(head_bytes, kept_bytes));
  packed.remove_prefix(head_bytes + kept_bytes);
  if (number >= models_max) {
    encoding.append(packed);
    return;
  }
  // Whatever is wrong here the encoding's checksum will tell.
  const std::string_view model = models_[number].encoding;
  encoding.reserve(encoded_length(encoding));
  while (!packed.empty()) {
    const std::size_t same = take_number(packed);
    const std::size_t others = take_number(packed);
    encoding.append(model.substr(std::min(encoding.size(), model.size()), same));
    encoding.append(packed.substr(0, others));
    packed.remove_prefix(std::min(others, packed.size()));
  }
}

void Likeness::forget(std::string_view packed) {
  const auto number = static_cast<std::uint8_t>(packed[0]);
  if (number >= models_max) return;
  Model& model = models_[number];
  if (--model.users == 0) drop(model);
}

void Likeness::drop(Model& model) {
  bytes_ -= model.encoding.size();
  model = {};
}

std::size_t Likeness::length_of(const char* packed) {
  std::uint32_t length = 0;
  std::memcpy(&length, packed + 1, sizeof length);
  return length;
}

Scope Likeness::scope_of(const char* packed) {
  Scope scope;
  std::memcpy(scope.data.data(), packed + head_bytes + encoding_scope_at, scope.data.size());
  return scope;
}

}  // namespace onceward::memory
