#include "cli/request_arguments.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include "config/config_codec.hpp"
#include "core/ascii.hpp"
#include "http/head.hpp"

namespace onceward::cli {
namespace {

Result<std::string> read_data(const std::string& data) {
  if (!data.starts_with('@')) return data;
  if (data == "@-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(data.substr(1), std::ios::binary);
  if (!file) return Error{Errc::invalid, "cannot read '" + data.substr(1) + "'"};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<client::Header> parse_header(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || colon == 0)
    return Error{Errc::invalid, "-H takes 'Name: value', not '" + line + "'"};
  return client::Header(line.substr(0, colon),
                        std::string(trim_ows(std::string_view(line).substr(colon + 1))));
}

std::string guess_type(const std::string& body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (body[first] == '{' || body[first] == '[');
  return json ? "application/json" : "application/x-www-form-urlencoded";
}

}  // namespace

std::vector<Option> request_options(RequestArguments& arguments) {
  return {{.names = "URL", .help = "http:// or https://", .target = &arguments.url, .required = true},
          {.names = "-X,--request",
           .help = "The method; without it POST with -d, else GET",
           .target = &arguments.method,
           .value_name = "METHOD"},
          {.names = "-H,--header",
           .help = "A header, 'Name: value'; may be repeated",
           .target = &arguments.headers,
           .value_name = "LINE"},
          {.names = "-d,--data",
           .help = "The body; @FILE reads it from a file, @- from standard input",
           .target = &arguments.data,
           .value_name = "BODY"}};
}

std::vector<Option> trust_options(TrustArguments& trust) {
  return {{.names = "--cacert",
           .help = "CA certificates, PEM",
           .target = &trust.ca_file,
           .value_name = "FILE",
           .is_file = true},
          {.names = "-k,--insecure",
           .help = "Do not verify the server's certificate",
           .target = &trust.insecure}};
}

Result<client::Request> make_request(const RequestArguments& arguments) {
  client::Request request{.method = arguments.method, .url = arguments.url};
  for (const std::string& line : arguments.headers) {
    Result<client::Header> header = parse_header(line);
    if (!header) return header.error();
    request.headers.push_back(std::move(*header));
  }
  if (request.method.empty()) request.method = arguments.data ? "POST" : "GET";
  if (!arguments.data) return request;
  Result<std::string> body = read_data(*arguments.data);
  if (!body) return body.error();
  request.body = std::move(*body);
  const bool typed = std::ranges::any_of(
      request.headers, [](const auto& h) { return http::same_name(h.first, "Content-Type"); });
  if (!typed) request.headers.emplace_back("Content-Type", guess_type(request.body));
  return request;
}

Result<Duration> parse_duration(const std::string& option, const std::string& text) {
  Duration value{};
  const std::string wrong = DurationCodec().read(YamlNode::literal(text), value);
  if (!wrong.empty()) return Error{Errc::invalid, option + ": " + wrong};
  return value;
}

}  // namespace onceward::cli
