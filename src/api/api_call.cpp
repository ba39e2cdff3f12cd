#include "api/api_call.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/hex.hpp"

namespace onceward {
namespace {

constexpr std::size_t limit_default = 100;
constexpr std::size_t limit_max = 1000;
constexpr std::string_view json_lines = "Content-Type: application/json\r\nCache-Control: no-store\r\n";

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      std::uint8_t byte = 0;
      if (i + 2 >= text.size() || !from_hex(text.substr(i + 1, 2), std::span(&byte, 1))) return std::nullopt;
      out += static_cast<char>(byte);
      i += 2;
    }
  }
  return out;
}

ProblemCode code_of(Errc error) {
  switch (error) {
    case Errc::unavailable:
    case Errc::refused:
      return ProblemCode::store_unavailable;
    case Errc::unreadable:
      return ProblemCode::record_unreadable;
    case Errc::stale:
    case Errc::conflict:
      return ProblemCode::conflict;
    case Errc::not_found:
      return ProblemCode::not_found;
    case Errc::invalid:
      return ProblemCode::bad_request;
  }
  return ProblemCode::internal_error;
}

}  // namespace

Task<> answer(ApiCall& call, int status, const boost::json::object& document) {
  (void)co_await call.exchange.respond(status, json_lines, boost::json::serialize(document) + "\n");
}

Task<> refuse(ApiCall& call, const Problem& problem, std::string_view decision) {
  std::string body = problem_json(problem);
  if (!decision.empty()) {
    body.pop_back();
    body.append(",\"decision\":\"").append(decision).append("\"}");
  }
  (void)co_await call.exchange.respond(problem_status(problem), problem_headers(problem), body);
}

Task<> refuse_input(ApiCall& call, std::string_view what) {
  co_await refuse(call, {.code = ProblemCode::bad_request, .detail = what});
}

Task<> refuse_error(ApiCall& call, const Error& error) {
  const ProblemCode code = code_of(error.code);
  // A store's own words may name machines; who may know them reads the log and /readyz.
  std::string_view detail = error.message;
  if (code == ProblemCode::record_unreadable) detail = {};
  if (code == ProblemCode::store_unavailable)
    detail =
        "The store cannot answer now. Whether the change was made is not known; the same call may be "
        "repeated.";
  co_await refuse(call, {.code = code, .detail = detail});
}

Result<std::size_t> limit_of(const Query& query) {
  const auto found = query.find("limit");
  if (found == query.end()) return limit_default;
  const std::string& text = found->second;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size() || limit < 1 || limit > limit_max)
    return Error{Errc::invalid, "limit: must be a whole number from 1 to 1000"};
  return limit;
}

Result<Query> read_query(std::string_view query, std::initializer_list<std::string_view> known) {
  Query found;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals));
    const auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return Error{Errc::invalid, "The query has a broken %-escape."};
    if (std::ranges::find(known, std::string_view(*name)) == known.end())
      return Error{Errc::invalid, "The query has a parameter that is not known here."};
    if (!found.emplace(*name, *value).second)
      return Error{Errc::invalid, "The query's " + *name + " is given twice."};
  }
  return found;
}

}  // namespace onceward
