// An operation id as text (8-4-4-4-12), without an allocation. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward {

class OperationIdText {
 public:
  OperationIdText() = default;  // of none: empty
  explicit OperationIdText(const OperationId& id);
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 36> text_;
  std::size_t size_ = 0;
};

}  // namespace onceward
