#include "core/json_string.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/ascii.hpp"

namespace onceward {
namespace {

using Word = std::uint64_t;
constexpr Word ones = 0x0101010101010101;
constexpr Word high_bits = ones * 0x80;

// High bit set in the first byte that is below 0x20, a quote, a backslash or not ASCII. Bytes behind
// the first hit may be marked wrongly (borrows run upwards); only the first is used.
constexpr Word special_bytes(Word word) {
  const Word below_space = word - ones * 0x20;
  const Word quote = (word ^ ones * '"') - ones;
  const Word backslash = (word ^ ones * '\\') - ones;
  return ((below_space | quote | backslash) & ~word & high_bits) | (word & high_bits);
}

constexpr bool is_special(unsigned char c) { return c < 0x20 || c == '"' || c == '\\' || c >= 0x80; }

const char* skip_plain(const char* at, const char* end) {
#ifdef __SSE2__
  const __m128i last_control = _mm_set1_epi8(0x1f);
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  for (; end - at >= 16; at += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
    const __m128i mark = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
    // The block's own high bits mark what is not ASCII.
    const int hits = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(control, mark), block));
    if (hits != 0) return at + std::countr_zero(static_cast<unsigned>(hits));
  }
#endif
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - at >= 8; at += 8) {
      Word word;
      std::memcpy(&word, at, sizeof word);
      if (const Word hits = special_bytes(word)) return at + std::countr_zero(hits) / 8;
    }
  }
  while (at != end && !is_special(static_cast<unsigned char>(*at))) ++at;
  return at;
}

bool in(unsigned char c, unsigned char low, unsigned char high) { return c >= low && c <= high; }

// Behind the well-formed UTF-8 sequence at `at` (Unicode, table 3-7), or null.
const char* skip_utf8(const char* at, const char* end) {
  const auto byte = [at](int i) { return static_cast<unsigned char>(at[i]); };
  const auto tail = [&byte](int i) { return in(byte(i), 0x80, 0xbf); };
  const auto left = end - at;
  const unsigned char lead = byte(0);
  if (in(lead, 0xc2, 0xdf)) return left >= 2 && tail(1) ? at + 2 : nullptr;
  if (in(lead, 0xe0, 0xef)) {
    if (left < 3 || !tail(1) || !tail(2)) return nullptr;
    if (lead == 0xe0 && byte(1) < 0xa0) return nullptr;  // overlong
    if (lead == 0xed && byte(1) > 0x9f) return nullptr;  // surrogate
    return at + 3;
  }
  if (in(lead, 0xf0, 0xf4)) {
    if (left < 4 || !tail(1) || !tail(2) || !tail(3)) return nullptr;
    if (lead == 0xf0 && byte(1) < 0x90) return nullptr;  // overlong
    if (lead == 0xf4 && byte(1) > 0x8f) return nullptr;  // beyond U+10FFFF
    return at + 4;
  }
  return nullptr;
}

void write_utf8(std::uint32_t code, char*& out) {
  const auto put = [&out](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// Four hexadecimal digits, or nothing.
std::optional<std::uint32_t> read_hex4(const char*& at, const char* end) {
  if (end - at < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(*at++);
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<std::uint32_t>(digit);
  }
  return value;
}

// `at` is behind "\u". A surrogate must be half of a pair: alone it is no character, and two texts that
// a decoder would both turn into U+FFFD must not become equal.
bool read_unicode_escape(const char*& at, const char* end, char*& out) {
  auto code = read_hex4(at, end);
  if (!code || (*code >= 0xdc00 && *code <= 0xdfff)) return false;
  if (*code >= 0xd800 && *code <= 0xdbff) {
    if (end - at < 2 || at[0] != '\\' || at[1] != 'u') return false;
    at += 2;
    const auto low = read_hex4(at, end);
    if (!low || *low < 0xdc00 || *low > 0xdfff) return false;
    code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
  }
  write_utf8(*code, out);
  return true;
}

// `at` is behind the backslash.
bool read_escape(const char*& at, const char* end, char*& out) {
  if (at == end) return false;
  switch (*at++) {
    case '"':
      *out++ = '"';
      return true;
    case '\\':
      *out++ = '\\';
      return true;
    case '/':
      *out++ = '/';
      return true;
    case 'b':
      *out++ = '\b';
      return true;
    case 'f':
      *out++ = '\f';
      return true;
    case 'n':
      *out++ = '\n';
      return true;
    case 'r':
      *out++ = '\r';
      return true;
    case 't':
      *out++ = '\t';
      return true;
    case 'u':
      return read_unicode_escape(at, end, out);
    default:
      return false;
  }
}

// Behind the plain characters and UTF-8 sequences at `at`: at a quote, a backslash or the end. Null for
// control characters and malformed UTF-8.
const char* skip_unescaped(const char* at, const char* end) {
  while (at) {
    at = skip_plain(at, end);
    if (at == end || *at == '"' || *at == '\\') return at;
    if (static_cast<unsigned char>(*at) < 0x20) return nullptr;
    at = skip_utf8(at, end);
  }
  return nullptr;
}

std::size_t length(const char* from, const char* to) { return static_cast<std::size_t>(to - from); }

}  // namespace

std::optional<JsonString> read_json_string(const char* at, const char* end, char*& arena) {
  const char* run = at;
  at = skip_unescaped(at, end);
  if (!at || at == end) return std::nullopt;
  if (*at == '"') return JsonString{{run, length(run, at)}, at + 1};

  const char* text = arena;
  for (;;) {
    std::memcpy(arena, run, length(run, at));
    arena += at - run;
    if (*at == '"') return JsonString{{text, length(text, arena)}, at + 1};
    ++at;
    if (!read_escape(at, end, arena)) return std::nullopt;
    run = at;
    at = skip_unescaped(at, end);
    if (!at || at == end) return std::nullopt;
  }
}

}  // namespace onceward
