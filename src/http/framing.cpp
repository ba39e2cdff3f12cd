#include "http/framing.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "http/chars.hpp"

namespace onceward::http {
namespace {

Framing refuse(std::string_view detail, int answer = 400) { return {{}, false, answer, detail}; }

constexpr std::uint64_t largest_body = std::uint64_t{1} << 62;

std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t n = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n > largest_body) return std::nullopt;
  return n;
}

// "Transfer_Encoding" and the like: not the header itself, but something behind us may take it for it.
bool looks_like_framing(std::string_view name) {
  if (name.size() < 13) return false;
  constexpr std::string_view length = "contentlength";
  constexpr std::string_view encoding = "transferencoding";
  const char first = to_lower(name.front());
  const bool letter = first >= 'a' && first <= 'z';
  if (letter && first != 'c' && first != 't') return false;
  std::size_t at = 0;
  bool is_length = true;
  bool is_encoding = true;
  for (char raw : name) {
    const char c = to_lower(raw);
    if (c < 'a' || c > 'z') continue;
    is_length = is_length && at < length.size() && length[at] == c;
    is_encoding = is_encoding && at < encoding.size() && encoding[at] == c;
    if (!is_length && !is_encoding) return false;
    ++at;
  }
  return (is_length && at == length.size()) || (is_encoding && at == encoding.size());
}

// Calls `take` with the name of each coding of a Transfer-Encoding value, without its parameters.
template <class Take>
void each_coding(std::string_view value, Take take) {
  for (;;) {
    const std::size_t comma = value.find(',');
    const std::string_view coding = value.substr(0, comma);
    take(trim(coding.substr(0, coding.find(';'))));
    if (comma == value.npos) return;
    value.remove_prefix(comma + 1);
  }
}

bool is_content_coding(std::string_view name) {
  for (std::string_view known : {"gzip", "deflate", "compress", "x-gzip", "x-compress", "identity"})
    if (same_name(name, known)) return true;
  return false;
}

// What both kinds of message share: the lines that say how long the body is.
struct Lengths {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  bool coded = false;  // anything but the plain word "chunked"
  Framing problem;

  void take(const HeaderView& field) {
    if (field.name.size() == 14 && same_name(field.name, "Content-Length")) return take_length(field.value);
    if (field.name.size() == 17 && same_name(field.name, "Transfer-Encoding"))
      return take_coding(field.value);
    if (looks_like_framing(field.name)) problem = refuse("a header that could be taken for framing");
  }
  void take_length(std::string_view value) {
    if (length) problem = refuse("more than one Content-Length");
    length = parse_length(value);
    if (!length) problem = refuse("an invalid Content-Length");
  }
  void take_coding(std::string_view value) {
    if (same_name(value, "chunked") && !coded && !chunked) {
      chunked = true;
      return;
    }
    each_coding(value, [this](std::string_view name) {
      if (chunked) problem = refuse("chunked is not the last transfer coding");
      chunked = same_name(name, "chunked");
      if (!chunked && !is_content_coding(name)) problem = refuse("an unknown transfer coding");
      coded = true;
    });
  }
  void judge(int minor) {
    if (!problem.ok()) return;
    const bool encoded = chunked || coded;
    if (encoded && length) problem = refuse("both Content-Length and Transfer-Encoding");
    if (coded && !chunked) problem = refuse("chunked is not the last transfer coding");
    if (encoded && minor == 0) problem = refuse("Transfer-Encoding in HTTP/1.0");
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool valid_port(std::string_view port) { return port.size() <= 5 && std::ranges::all_of(port, is_digit); }

bool valid_host(std::string_view host) {
  if (!std::ranges::all_of(host, is_host_char)) return false;
  if (host.starts_with('[')) {
    const std::size_t close = host.find(']');
    if (close == host.npos) return false;
    host.remove_prefix(close + 1);
    return host.empty() || (host.front() == ':' && valid_port(host.substr(1)));
  }
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] == '[' || host[i] == ']') return false;
    if (host[i] == ':') return valid_port(host.substr(i + 1));
  }
  return true;
}

// An upstream that cuts fragments off would see another path than the one that was matched with the
// operations.
Framing check_path(std::string_view target) {
  const std::size_t fragment = target.find('#');
  if (fragment == target.npos || fragment > target.find('?')) return {};
  return refuse("the path has a fragment");
}

Framing cut_absolute_form(RequestHead& head, std::string_view rest) {
  const std::size_t slash = rest.find_first_of("/?");
  const std::string_view authority = rest.substr(0, slash);
  if (authority.empty() || !valid_host(authority)) return refuse("the target has no valid host");
  if (head.headers.find("Host") && !same_name(authority, head.host))
    return refuse("the target and the Host header disagree");
  if (slash != rest.npos && rest[slash] == '?') return refuse("the target has no path");
  head.host = authority;
  head.target = slash == rest.npos ? std::string_view("/") : rest.substr(slash);
  return check_path(head.target);
}

}  // namespace

Framing check_framing(const RequestHead& head) {
  Lengths lengths;
  std::size_t hosts = 0;
  for (const HeaderView& field : head.headers) {
    lengths.take(field);
    if (field.name.size() == 4 && same_name(field.name, "Host")) {
      ++hosts;
      if (!valid_host(field.value)) return refuse("an invalid Host");
    } else if (field.name.size() == 6 && head.minor == 1 && same_name(field.name, "Expect") &&
               !same_name(field.value, "100-continue")) {
      return refuse("an expectation other than 100-continue", 417);
    }
  }
  lengths.judge(head.minor);
  if (!lengths.problem.ok()) return lengths.problem;
  if (hosts > 1) return refuse("more than one Host");
  if (hosts == 0 && head.minor == 1) return refuse("no Host");

  const Body body = lengths.chunked  ? Body::chunked()
                    : lengths.length ? Body::length(*lengths.length)
                                     : Body::none();
  // Some servers read the body of a GET and some take it for the next request.
  const bool bodiless = head.method == "GET" || head.method == "HEAD" || head.method == "TRACE";
  if (bodiless && !body.empty()) return refuse("a body where the method has none");
  return {body, lengths.coded, 0, {}};
}

Framing check_target(RequestHead& head) {
  if (head.method == "CONNECT") return refuse("CONNECT is not served here", 501);
  head.host = head.headers.find("Host").value_or("");
  if (head.target.empty()) head.target = "/";
  if (head.target.front() == '/') return check_path(head.target);
  if (head.target == "*")
    return head.method == "OPTIONS" ? Framing{} : refuse("the target * is for OPTIONS only");
  for (std::string_view scheme : {"http://", "https://"})
    if (head.target.size() > scheme.size() && same_name(head.target.substr(0, scheme.size()), scheme))
      return cut_absolute_form(head, head.target.substr(scheme.size()));
  return refuse("the target is neither a path nor a URI");
}

void append_codings(std::string& out, const HeaderList& headers) {
  for (const HeaderView& field : headers) {
    if (!same_name(field.name, "Transfer-Encoding")) continue;
    each_coding(field.value, [&](std::string_view name) {
      if (same_name(name, "identity") || same_name(name, "chunked")) return;
      for (char c : name) out.push_back(to_lower(c));
      out.append(", ");
    });
  }
}

Framing check_response_framing(const ResponseHead& head, std::string_view request_method) {
  Lengths lengths;
  for (const HeaderView& field : head.headers) lengths.take(field);
  lengths.judge(head.minor);
  const bool bodiless =
      request_method == "HEAD" || head.status < 200 || head.status == 204 || head.status == 304;
  if (!lengths.problem.ok()) return lengths.problem;
  // We never say TE, so an upstream has no reason to use a coding that we would have to pass on.
  if (lengths.coded) return refuse("a Transfer-Encoding other than chunked");
  if (bodiless) return {};
  if (lengths.chunked) return {Body::chunked()};
  if (lengths.length) return {Body::length(*lengths.length)};
  return {Body::until_close()};
}

}  // namespace onceward::http
