// Spelling: which known word someone probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace onceward::config {

// "; did you mean 'x'?" for the nearest of `known` within a few edits of `word`, else nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace onceward::config
