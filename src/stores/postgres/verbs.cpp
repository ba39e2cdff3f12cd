#include "stores/postgres/verbs.hpp"

#include "core/transition.hpp"
#include "stores/postgres/leaves.hpp"
#include "stores/postgres/record_row.hpp"
#include "stores/postgres/text.hpp"

namespace onceward::postgres {
namespace {

#define ONCEWARD_VERB(CALL) \
  "SELECT v.verdict, v.decided_at, " ONCEWARD_RECORD_COLUMNS("(v.r).") " FROM onceward." CALL " AS v"
#define ONCEWARD_LOOKUP(WHERE) \
  "SELECT 'found', onceward.clock($2), " ONCEWARD_RECORD_COLUMNS("r.") " FROM onceward.records r " \
                                                                       "WHERE " WHERE

Statement fenced(const char* sql, const Fence& fence) {
  Statement statement(sql);
  statement.bytes(fence.scope).uuid(fence.operation_id).big(static_cast<std::int64_t>(fence.epoch));
  statement.uuid(fence.owner);
  return statement;
}

void add_response(Statement& statement, const Response* response) {
  if (response) {
    statement.number(response->status).bytes(response->headers).bytes(response->body);
    statement.flag(response->body_omitted);
  } else {
    statement.no_number().no_bytes().no_bytes().flag(false);
  }
}

struct Answer {
  std::string_view verdict;
  Timestamp decided_at;
};

Error error_of(std::string_view verdict) {
  if (verdict == "not_found") return {Errc::not_found, "no such record"};
  if (verdict == "stale") return {Errc::stale, "the claim is not the current one of this record"};
  if (verdict == "conflict") return {Errc::conflict, "the record's state does not allow this"};
  return {Errc::unreadable, "stored record: written by a newer version, or damaged"};
}

bool is_error(std::string_view verdict) {
  return verdict == "not_found" || verdict == "stale" || verdict == "conflict" || verdict == "unreadable";
}

Error no_answer() { return {Errc::unreadable, "the store's function answered with something else"}; }

Result<Answer> read_answer(Row& row) {
  const std::string_view verdict = row.bytes();
  if (is_error(verdict)) return error_of(verdict);
  const Timestamp decided_at = row.time();
  if (!row.ok()) return no_answer();
  return Answer{verdict, decided_at};
}

// What was just written is as it is; what stands is seen with leases and ttls applied.
Result<Record> as_of(const Answer& answer, Result<Record> record) {
  if (!record || answer.verdict == "granted" || answer.verdict == "changed") return record;
  std::optional<Record> settled = settle(*record, answer.decided_at);
  if (!settled) return error_of("not_found");
  return std::move(*settled);
}

}  // namespace

Statement claim_statement(const ClaimRequest& request, TestTime now) {
  Statement statement(ONCEWARD_VERB(
      "claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)"));
  statement.bytes(request.scope)
      .uuid(request.operation_id)
      .uuid(request.owner)
      .word(to_string(request.start));
  statement.number(request.fingerprint.version);
  if (request.fingerprint.bound()) {
    statement.bytes(request.fingerprint.digest);
  } else {
    statement.no_bytes();
  }
  const RequestInfo& info = *request.request;
  statement.text(to_text(info.tenant)).text(to_text(info.operation)).text(to_text(info.key_hint));
  statement.text(to_text(info.owner_tag)).own_bytes(encode_leaves(info.leaves));
  statement.text(to_text(info.probe_target));
  statement.big(request.lease.count()).big(request.max_hold.count());
  statement.big(request.ttl.count()).big(request.receipt_ttl.count());
  statement.flag(request.take_unknown).optional_big(now);
  return statement;
}

Statement dispatch_statement(const Fence& fence, TestTime now) {
  Statement statement = fenced(ONCEWARD_VERB("dispatch($1, $2, $3, $4, $5)"), fence);
  statement.optional_big(now);
  return statement;
}

Statement renew_statement(const RenewRequest& request, TestTime now) {
  Statement statement = fenced(ONCEWARD_VERB("renew($1, $2, $3, $4, $5, $6)"), request.fence);
  statement.big(request.lease.count()).optional_big(now);
  return statement;
}

Statement complete_statement(const CompleteRequest& request, TestTime now) {
  Statement statement =
      fenced(ONCEWARD_VERB("complete($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"), request.fence);
  statement.word(to_string(request.as));
  statement.optional_big(request.ttl ? std::optional(request.ttl->count()) : std::nullopt);
  add_response(statement, request.response.get());
  statement.optional_big(now);
  return statement;
}

Statement release_statement(const ReleaseRequest& request, TestTime now) {
  Statement statement = fenced(ONCEWARD_VERB("release($1, $2, $3, $4, $5, $6)"), request.fence);
  statement.flag(request.unbind).optional_big(now);
  return statement;
}

Statement unknown_statement(const UnknownRequest& request, TestTime now) {
  Statement statement = fenced(ONCEWARD_VERB("unknown($1, $2, $3, $4, $5, $6, $7, $8)"), request.fence);
  statement.word(to_string(request.evidence.cause)).number(request.evidence.status_seen);
  statement.big(static_cast<std::int64_t>(request.evidence.bytes_seen)).optional_big(now);
  return statement;
}

Statement resolve_statement(const ResolveRequest& request, TestTime now) {
  Statement statement(ONCEWARD_VERB("resolve($1, $2, $3, $4, $5, $6, $7, $8, $9)"));
  statement.bytes(request.scope).uuid(request.operation_id).big(static_cast<std::int64_t>(request.epoch));
  statement.word(to_string(request.as));
  add_response(statement, request.as == State::released ? nullptr : request.response.get());
  statement.optional_big(now);
  return statement;
}

Statement lookup_statement(const Scope& scope, TestTime now) {
  Statement statement(ONCEWARD_LOOKUP("r.scope = $1"));
  statement.bytes(scope).optional_big(now);
  return statement;
}

Statement lookup_statement(const OperationId& id, TestTime now) {
  Statement statement(ONCEWARD_LOOKUP("r.operation_id = $1"));
  statement.uuid(id).optional_big(now);
  return statement;
}

Result<ClaimReply> read_claim(const PGresult& result, const ClaimRequest& request) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  const Result<Answer> answer = read_answer(row);
  if (!answer) return answer.error();
  Result<Record> record = as_of(*answer, read_record(row));
  if (!record) return record.error();
  const bool granted = answer->verdict == "granted" || answer->verdict == "mine";
  if (granted) record->request = request.request;
  return ClaimReply{granted, std::move(*record)};
}

Result<Record> read_verb(const PGresult& result) {
  if (PQntuples(&result) == 0) return error_of("not_found");
  Row row(result, 0);
  const Result<Answer> answer = read_answer(row);
  if (!answer) return answer.error();
  return as_of(*answer, read_record(row));
}

Result<Record> read_complete(const PGresult& result, const CompleteRequest& request) {
  Result<Record> record = read_verb(result);
  if (record) record->response = request.response;
  return record;
}

}  // namespace onceward::postgres
