// Routes: which operation a request belongs to. Compiled from `match` patterns at start-up or reload,
// then immutable: any thread may call find(), which allocates nothing.
//
// A pattern is METHOD PATH. METHOD is an exact method or `*`. In PATH, `{name}` is one whole, non-empty
// segment and `{name*}`, only as the last segment, is the rest of the path (at least one character). All
// other segments compare byte by byte with what the client sent: nothing is decoded, letter case and a
// trailing slash count, and a colon is an ordinary character. Decoding here would let the proxy and the
// upstream disagree about what `%2F` or `..` means. The query is not part of the path.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onceward/result.hpp"

namespace onceward {

class RoutePattern {
 public:
  static Result<RoutePattern> parse(std::string_view text);
  bool matches(std::string_view method, std::string_view path) const;

 private:
  enum class Kind { literal, segment, rest };
  struct Segment {
    Kind kind = Kind::literal;
    std::string text;  // of a literal
  };
  std::string method_;  // empty: any
  std::vector<Segment> segments_;
};

class Routes {
 public:
  // Errc::invalid with "pattern: why" for the first bad one.
  static Result<Routes> compile(const std::vector<std::string>& patterns);

  // Index of the first pattern that fits. `path` is as sent; a query, if still there, is left out.
  std::optional<std::size_t> find(std::string_view method, std::string_view path) const;

 private:
  std::vector<RoutePattern> patterns_;
};

}  // namespace onceward
