// Random documents: another spelling of one value has the same fingerprint; one changed leaf gives
// another fingerprint and is named. The seed is printed with every failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "core/fingerprint.hpp"

namespace onceward {
namespace {

using testing::ElementsAre;
using Random = std::mt19937_64;

constexpr int cases = 20'000;

struct Value {
  enum Kind { null, boolean, number, string, array, object } kind = null;
  bool flag = false;
  std::int64_t digits = 0;  // number: digits × 10^exponent
  int exponent = 0;
  std::u32string text;
  std::vector<Value> items;
  std::vector<std::u32string> names;  // of the items, unique
};

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

std::u32string random_text(Random& random) {
  constexpr char32_t alphabet[] = {U'a',    U'b', U'z',    U'"', U'\\', U'/',      U'~', U'\n',
                                   U'\x1f', U' ', U'\x7f', U'é', U'€',  U'\uffff', U'😀'};
  std::u32string text;
  for (std::size_t n = below(random, 12); n > 0; --n) text += alphabet[below(random, std::size(alphabet))];
  return text;
}

Value random_value(Random& random, int depth) {
  Value value;
  value.kind = static_cast<Value::Kind>(below(random, depth > 0 ? 6 : 4));
  value.flag = below(random, 2) == 1;
  value.digits = static_cast<std::int64_t>(below(random, 100'000)) - 50'000;
  value.exponent = static_cast<int>(below(random, 9)) - 4;
  value.text = random_text(random);
  if (value.kind < Value::array) return value;
  for (std::size_t n = below(random, 5); n > 0; --n) {
    std::u32string name = random_text(random);
    if (std::ranges::find(value.names, name) != value.names.end()) continue;
    value.names.push_back(std::move(name));
    value.items.push_back(random_value(random, depth - 1));
  }
  return value;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

// Writes a value in one of its many spellings.
class Speller {
 public:
  explicit Speller(Random& random) : random_(random) {}
  std::string spell(const Value& value) {
    write(value);
    return std::move(out_);
  }

 private:
  void space() {
    for (std::size_t n = below(random_, 3); n > 0; --n) out_ += " \t\r\n"[below(random_, 4)];
  }

  void write(const Value& value) {
    space();
    switch (value.kind) {
      case Value::null:
        out_ += "null";
        break;
      case Value::boolean:
        out_ += value.flag ? "true" : "false";
        break;
      case Value::number:
        number(value);
        break;
      case Value::string:
        string(value.text);
        break;
      case Value::array:
        container(value, "[]");
        break;
      case Value::object:
        container(value, "{}");
        break;
    }
    space();
  }

  void container(const Value& value, const char* brackets) {
    std::vector<std::size_t> order(value.items.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (value.kind == Value::object) std::ranges::shuffle(order, random_);
    out_ += brackets[0];
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out_ += ',';
      space();
      if (value.kind == Value::object) {
        string(value.names[order[i]]);
        space();
        out_ += ':';
      }
      write(value.items[order[i]]);
    }
    if (order.empty()) space();
    out_ += brackets[1];
  }

  // The same decimal with the point moved and zeros added.
  void number(const Value& value) {
    if (value.digits < 0) out_ += '-';
    std::string digits = std::to_string(std::abs(value.digits));
    int exponent = value.exponent;
    if (value.digits != 0) {
      for (std::size_t n = below(random_, 3); n > 0; --n, --exponent) digits += '0';
    }
    const std::size_t fraction = below(random_, digits.size());
    if (fraction > 0) digits.insert(digits.size() - fraction, 1, '.');
    out_ += digits;
    exponent += static_cast<int>(fraction);
    if (exponent != 0 || below(random_, 2) == 0) {
      out_ += "eE"[below(random_, 2)];
      if (exponent >= 0 && below(random_, 2) == 0) out_ += '+';
      out_ += std::to_string(exponent);
    }
  }

  void string(const std::u32string& text) {
    out_ += '"';
    for (char32_t c : text) {
      const bool must_escape = c < 0x20 || c == U'"' || c == U'\\';
      if (must_escape || below(random_, 4) == 0)
        escape(c);
      else
        append_utf8(out_, c);
    }
    out_ += '"';
  }

  void escape(char32_t c) {
    if (c == U'/' || c == U'"' || c == U'\\') {
      out_ += '\\';
      out_ += static_cast<char>(c);
    } else if (c > 0xffff) {
      unit(0xd800 + ((c - 0x10000) >> 10));
      unit(0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
      unit(c);
    }
  }

  void unit(char32_t c) {
    char text[8];
    std::snprintf(text, sizeof text, below(random_, 2) == 0 ? "\\u%04x" : "\\u%04X",
                  static_cast<unsigned>(c));
    out_ += text;
  }

  Random& random_;
  std::string out_;
};

struct FoundLeaf {
  std::string pointer;
  Value* value;
};

void collect_leaves(Value& value, const std::string& pointer, std::vector<FoundLeaf>& leaves) {
  if (value.items.empty()) leaves.push_back({pointer, &value});
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    std::string token;
    if (value.kind == Value::array) token = std::to_string(i);
    if (value.kind == Value::object)
      for (char32_t c : value.names[i]) append_utf8(token, c);
    std::string below_here = pointer;
    append_pointer_token(below_here, token);
    collect_leaves(value.items[i], below_here, leaves);
  }
}

// Always another value, and always a leaf still.
void change(Value& leaf) {
  switch (leaf.kind) {
    case Value::null:
      leaf.kind = Value::boolean;
      break;
    case Value::boolean:
      leaf.flag = !leaf.flag;
      break;
    case Value::number:
      leaf.digits = leaf.digits == 0 ? 1 : -leaf.digits;
      break;
    case Value::string:
      leaf.text += U'!';
      break;
    case Value::array:
      leaf.kind = Value::object;
      break;
    case Value::object:
      leaf.kind = Value::null;
      break;
  }
}

FingerprintResult fingerprint_of(const std::string& body) {
  return *fingerprint(fingerprint_version, {"POST", "op", "/", "", "application/json", body, {}}, {}, {});
}

TEST(JsonProperty, SpellingNeverMattersAndOneChangedLeafAlwaysDoesAndIsNamed) {
  std::size_t named = 0;
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed));
    Value value = random_value(random, 4);
    const std::string one = Speller(random).spell(value);
    const std::string two = Speller(random).spell(value);
    const auto first = fingerprint_of(one);
    const auto second = fingerprint_of(two);
    ASSERT_EQ(first.fingerprint, second.fingerprint) << one << "\n" << two;
    ASSERT_EQ(first.leaves, second.leaves) << one << "\n" << two;

    std::vector<FoundLeaf> leaves;
    collect_leaves(value, "", leaves);
    ASSERT_FALSE(leaves.empty());
    ASSERT_EQ(first.leaves.size(), leaves.size() <= 64 ? leaves.size() : 0) << one;
    const FoundLeaf& leaf = leaves[below(random, leaves.size())];
    change(*leaf.value);
    const std::string three = Speller(random).spell(value);
    const auto other = fingerprint_of(three);
    ASSERT_NE(first.fingerprint, other.fingerprint) << one << "\n" << three;
    const auto changed = changed_pointers(first.leaves, other.leaves);
    if (first.leaves.empty()) continue;
    ASSERT_THAT(changed, ElementsAre(leaf.pointer)) << one << "\n" << three;
    ++named;
  }
  EXPECT_GT(named, cases / 2u);
}

}  // namespace
}  // namespace onceward
