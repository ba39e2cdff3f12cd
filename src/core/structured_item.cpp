#include "core/structured_item.hpp"

#include "core/ascii.hpp"

namespace onceward {
namespace {

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_alpha(char c) { return is_lower(ascii_lower(c)); }
constexpr bool is_name_char(char c) {
  return is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*';
}
constexpr bool is_unescaped(char c) { return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\'; }
constexpr bool is_base64(char c) { return is_alpha(c) || is_digit(c) || c == '+' || c == '/'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  template <class Predicate>
  std::string_view take_while(Predicate wanted) {
    std::size_t length = 0;
    while (length < rest_.size() && wanted(rest_[length])) ++length;
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  std::optional<std::string> string() {
    if (!take('"')) return std::nullopt;
    std::string text;
    for (;;) {
      text += take_while(is_unescaped);
      if (take('"')) return text;
      if (!take('\\')) return std::nullopt;
      if (peek() != '"' && peek() != '\\') return std::nullopt;
      text += peek();
      rest_.remove_prefix(1);
    }
  }

  bool parameters() {
    while (take(';')) {
      take_while([](char c) { return c == ' '; });
      if (!is_lower(peek()) && peek() != '*') return false;
      take_while(is_name_char);
      if (take('=') && !bare_item()) return false;
    }
    return true;
  }

 private:
  bool bare_item() {
    if (peek() == '"') return string().has_value();
    if (peek() == ':') return byte_sequence();
    if (peek() == '?') return boolean();
    if (is_digit(peek()) || peek() == '-') return number();
    return token();
  }

  bool boolean() { return take('?') && (take('0') || take('1')); }

  bool token() {
    if (!is_alpha(peek()) && peek() != '*') return false;
    take_while([](char c) { return is_tchar(c) || c == ':' || c == '/'; });
    return true;
  }

  bool number() {
    take('-');
    const std::size_t whole = take_while(is_digit).size();
    if (!take('.')) return whole >= 1 && whole <= 15;
    const std::size_t fraction = take_while(is_digit).size();
    return whole >= 1 && whole <= 12 && fraction >= 1 && fraction <= 3;
  }

  bool byte_sequence() {
    take(':');
    const std::size_t symbols = take_while(is_base64).size();
    const std::size_t padding = take_while([](char c) { return c == '='; }).size();
    // RFC 8941 lets a parser accept missing padding; too much of it is never base64.
    return take(':') && padding <= 2 && symbols % 4 != 1;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::string> parse_string_item(std::string_view value) {
  Reader reader(value);
  std::optional<std::string> text = reader.string();
  if (!text || !reader.parameters() || !reader.done()) return std::nullopt;
  return text;
}

}  // namespace onceward
