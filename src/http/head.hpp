// The heads of HTTP/1.x messages as views over the bytes they were read from. Pure values; a head is
// valid as long as the buffer it was parsed from, and is reused from message to message so that no
// header costs an allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace onceward::http {

bool same_letters(const char* a, const char* b, std::size_t bytes);

// ASCII only: header names never depend on a locale. Most names differ in length already.
inline bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_letters(a.data(), b.data(), a.size());
}

struct HeaderView {
  std::string_view name;
  std::string_view value;  // without surrounding white space
};

class HeaderList {
 public:
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }
  void clear() { fields_.clear(); }
  void add(std::string_view name, std::string_view value) { fields_.push_back({name, value}); }

  std::optional<std::string_view> find(std::string_view name) const;  // the first line of that name
  std::size_t count(std::string_view name) const;
  std::vector<std::string_view> lines(std::string_view name) const;  // allocates: for rare headers

 private:
  std::vector<HeaderView> fields_;
};

// How a message's body is delimited.
struct Body {
  enum class Kind : std::uint8_t { none, length, chunked, until_close };
  Kind kind = Kind::none;
  std::uint64_t bytes = 0;  // of kind length

  static constexpr Body none() { return {}; }
  static constexpr Body length(std::uint64_t n) { return {Kind::length, n}; }
  static constexpr Body chunked() { return {Kind::chunked, 0}; }
  static constexpr Body until_close() { return {Kind::until_close, 0}; }
  // A body of length 0 is an empty one, whatever the head said about it.
  bool empty() const { return kind == Kind::none || (kind == Kind::length && bytes == 0); }
  bool operator==(const Body&) const = default;
};

struct RequestHead {
  std::string_view method;
  std::string_view target;  // origin-form (or "*"): an absolute-form target has been cut down to its path
  std::string_view host;    // of the Host line or of an absolute-form target; empty in HTTP/1.0 without one
  int minor = 1;            // HTTP/1.minor
  HeaderList headers;
  Body body;
  bool keep_alive = true;
  bool expect_continue = false;
  bool coded = false;  // the content of a chunked body has transfer codings of its own, which are kept

  std::string_view path() const { return target.substr(0, target.find('?')); }
  std::string_view query() const;  // after the '?', empty when there is none
  void clear();
};

struct ResponseHead {
  int status = 0;
  std::string_view reason;
  int minor = 1;
  HeaderList headers;
  Body body;
  bool keep_alive = true;

  void clear();
};

// True when the comma-separated list of a header's value has the token (case-insensitive).
bool has_token(std::string_view list, std::string_view token);
bool has_token(const HeaderList& headers, std::string_view name, std::string_view token);

}  // namespace onceward::http
