// An operation id as text (8-4-4-4-12), without an allocation. Pure.
#pragma once

#include <array>
#include <string_view>

#include "onceward/values.hpp"

namespace onceward {

class OperationIdText {
 public:
  explicit OperationIdText(const OperationId& id);
  std::string_view view() const { return {text_.data(), text_.size()}; }

 private:
  std::array<char, 36> text_;
};

}  // namespace onceward
