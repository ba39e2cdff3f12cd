// TextWriter: writes the text of a head into memory that is known to be enough. Each append to a string asks
// whether there is room, and a head is made of some thirty pieces. Pure; lives inside resize_and_overwrite.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace onceward::http {

class TextWriter {
 public:
  explicit TextWriter(char* at) : at_(at) {}

  char* end() const { return at_; }

  TextWriter& put(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  static constexpr std::size_t digits_max = 20;
  TextWriter& put_number(std::uint64_t number) {
    at_ = std::to_chars(at_, at_ + digits_max, number).ptr;
    return *this;
  }
  static constexpr std::size_t line_extra = 4;  // of a line, besides name and value
  TextWriter& put_line(std::string_view name, std::string_view value) {
    put(name);
    *at_++ = ':';
    *at_++ = ' ';
    put(value);
    *at_++ = '\r';
    *at_++ = '\n';
    return *this;
  }

 private:
  char* at_;
};

}  // namespace onceward::http
