#include "onceward/values.hpp"

#include <array>

#include "base/assert.hpp"
#include "base/hex.hpp"
#include "core/ascii.hpp"
#include "core/operation_id_text.hpp"

namespace onceward {
namespace {

constexpr std::array<std::string_view, 7> state_names{"claimed",  "processing", "succeeded", "failed",
                                                      "released", "unknown",    "expired"};  // from 1

constexpr std::array<std::string_view, 9> cause_names{"none",          "timeout",         "reset",
                                                      "half_answer",   "upstream_status", "owner_lost",
                                                      "store_failure", "declared",        "shutdown"};

constexpr bool is_hyphen_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

std::string_view to_string(State state) {
  const std::size_t index = static_cast<std::size_t>(state) - 1;
  ONCEWARD_ASSERT(index < state_names.size());
  return state_names[index];
}

std::string_view to_string(UnknownCause cause) {
  const auto index = static_cast<std::size_t>(cause);
  ONCEWARD_ASSERT(index < cause_names.size());
  return cause_names[index];
}

std::optional<State> state_from_string(std::string_view text) {
  for (std::size_t i = 0; i < state_names.size(); ++i)
    if (state_names[i] == text) return static_cast<State>(i + 1);
  return std::nullopt;
}

OperationIdText::OperationIdText(const OperationId& id) : size_(text_.size()) {
  const std::span<const std::uint8_t> bytes(id.data);
  char* at = write_hex(bytes.subspan(0, 4), text_.data());
  for (const std::size_t from : {std::size_t{4}, std::size_t{6}, std::size_t{8}}) {
    *at++ = '-';
    at = write_hex(bytes.subspan(from, 2), at);
  }
  *at++ = '-';
  write_hex(bytes.subspan(10, 6), at);
}

std::string to_string(const OperationId& id) { return std::string(OperationIdText(id).view()); }

std::optional<OperationId> operation_id_from_string(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  OperationId id;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_hyphen_position(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return std::nullopt;
    auto& byte = id.data[digits++ / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
  }
  return id;
}

}  // namespace onceward
