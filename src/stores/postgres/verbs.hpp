// The verbs as statements, and what their rows mean. Pure; any thread. A statement refers to its request,
// which by the rules of Store lives until the reply.
#pragma once

#include "onceward/store.hpp"
#include "stores/postgres/row.hpp"
#include "stores/postgres/statement.hpp"

namespace onceward::postgres {

// The time a verb decides by; nothing: the server's clock. Only tests have another.
using TestTime = std::optional<std::int64_t>;

Statement claim_statement(const ClaimRequest& request, TestTime now);
Statement dispatch_statement(const Fence& fence, TestTime now);
Statement renew_statement(const RenewRequest& request, TestTime now);
Statement complete_statement(const CompleteRequest& request, TestTime now);
Statement release_statement(const ReleaseRequest& request, TestTime now);
Statement unknown_statement(const UnknownRequest& request, TestTime now);
Statement resolve_statement(const ResolveRequest& request, TestTime now);
Statement adopt_statement(const Record& copy, TestTime now);
Statement lookup_statement(const Scope& scope, TestTime now);
Statement lookup_statement(const OperationId& id, TestTime now);

Result<ClaimReply> read_claim(const PGresult& result, const ClaimRequest& request);
Result<Record> read_verb(const PGresult& result);
Result<bool> read_adopt(const PGresult& result);
Result<Record> read_complete(const PGresult& result, const CompleteRequest& request);

}  // namespace onceward::postgres
