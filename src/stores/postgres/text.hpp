// Names (tenants, operations) as PostgreSQL text. A header's bytes may be no UTF-8 or contain a NUL, which
// text cannot hold: such bytes, and the backslash, are written \xHH. Everything else stays as it is, so that
// people can read it. One name has one spelling, so equality of text is equality of names. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace onceward::postgres {

std::string to_text(std::string_view bytes);
std::optional<std::string> from_text(std::string_view text);  // nothing: to_text never wrote this

}  // namespace onceward::postgres
