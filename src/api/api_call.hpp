// ApiCall: one request to the API, already authenticated and read, and the ways to answer it. Lives as long
// as its exchange, on the API's worker.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_rules.hpp"
#include "base/task.hpp"
#include "http/exchange.hpp"
#include "onceward/result.hpp"
#include "ops/problem.hpp"

namespace onceward {

struct ApiCall {
  http::Exchange& exchange;
  std::shared_ptr<const ApiRules> rules;
  Principal principal;
  std::string_view id;  // the {operation_id} of the path
  std::string body;

  Executor& executor() { return exchange.executor(); }
};

Task<> answer(ApiCall& call, int status, const boost::json::object& document);
// `decision` names what became of a claim, beside the problem's code.
Task<> refuse(ApiCall& call, const Problem& problem, std::string_view decision = {});
// 400 with what is wrong.
Task<> refuse_input(ApiCall& call, std::string_view what);
// A store that failed: 503, or whatever its error stands for.
Task<> refuse_error(ApiCall& call, const Error& error);

// The members of a query, decoded. Errc::invalid for bad escapes, repeated and unknown names.
using Query = std::map<std::string, std::string, std::less<>>;
Result<Query> read_query(std::string_view query, std::initializer_list<std::string_view> known);
// The member `limit`: 1 to 1000, by default 100. Errc::invalid.
Result<std::size_t> limit_of(const Query& query);

}  // namespace onceward
