#include "stores/postgres/verbs.hpp"

#include "core/transition.hpp"
#include "stores/postgres/leaves.hpp"
#include "stores/postgres/record_row.hpp"
#include "stores/postgres/text.hpp"

namespace onceward::postgres {
namespace {

#define ONCEWARD_VERB(CALL) \
  "SELECT v.verdict, v.decided_at, " ONCEWARD_RECORD_COLUMNS("(v.r).") " FROM onceward." CALL " AS v"
#define ONCEWARD_CLAIM(CALL)                                                \
  "SELECT v.verdict, v.decided_at, (v.standing).kind, (v.standing).scope, " \
  "(v.standing).operation_id, " ONCEWARD_RECORD_COLUMNS("(v.r).") " FROM onceward." CALL " AS v"
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

void add_result(Statement& statement, const OperationResult* result) {
  if (result) {
    statement.text(to_text(result->resource_type)).text(to_text(result->resource_id));
    statement.text(to_text(result->failure_code));
  } else {
    statement.no_text().no_text().no_text();
  }
}

void add_events(Statement& statement, const Events* events) {
  if (!events) {
    statement.no_texts().no_texts().no_texts().no_byte_strings();
    return;
  }
  std::vector<std::string> ids, types, content_types;
  std::vector<std::string_view> payloads;
  for (const Event& event : *events) {
    ids.push_back(to_text(event.id));
    types.push_back(to_text(event.type));
    content_types.push_back(to_text(event.content_type));
    payloads.push_back(event.payload);
  }
  statement.texts(ids).texts(types).texts(content_types).byte_strings(payloads);
}

void add_mark(Statement& statement, const std::vector<Mark>& marks, MarkKind kind) {
  for (const Mark& mark : marks) {
    if (mark.kind != kind) continue;
    statement.bytes(mark.scope).big(mark.keep.count()).flag(mark.refuses);
    return;
  }
  statement.no_bytes().optional_big(std::nullopt).no_flag();
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

std::optional<MarkHolder> read_standing(Row& row) {
  if (row.next_is_null()) {
    for (int column = 0; column < 3; ++column) row.skip();
    return std::nullopt;
  }
  MarkHolder holder;
  holder.kind = row.bytes() == "suspect" ? MarkKind::suspect : MarkKind::unique;
  row.fixed(holder.scope.data);
  row.fixed(holder.operation_id.data);
  return holder;
}

}  // namespace

Statement claim_statement(const ClaimRequest& request, TestTime now) {
  Statement statement(
      ONCEWARD_CLAIM("claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, "
                     "$19, $20, $21, $22, $23, $24, $25)"));
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
  statement.flag(request.take_unknown);
  statement.optional_text(info.reference.empty() ? std::nullopt : std::optional(to_text(info.reference)));
  add_mark(statement, info.marks, MarkKind::unique);
  add_mark(statement, info.marks, MarkKind::suspect);
  statement.optional_big(now);
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
  Statement statement = fenced(ONCEWARD_VERB("complete($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, "
                                             "$13, $14, $15, $16, $17, $18)"),
                               request.fence);
  statement.word(to_string(request.as));
  statement.optional_big(request.ttl ? std::optional(request.ttl->count()) : std::nullopt);
  add_response(statement, request.response.get());
  add_result(statement, request.result.get());
  add_events(statement, request.events.get());
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
  Statement statement(
      ONCEWARD_VERB("resolve($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"));
  statement.bytes(request.scope).uuid(request.operation_id).big(static_cast<std::int64_t>(request.epoch));
  statement.word(to_string(request.as));
  const bool released = request.as == State::released;
  add_response(statement, released ? nullptr : request.response.get());
  add_result(statement, released ? nullptr : request.result.get());
  add_events(statement, request.events.get());
  statement.optional_big(now);
  return statement;
}

namespace {

// Mirrors `supersedes`. One statement, for which no function is worth keeping in the schema.
constexpr const char* adopt_sql =
    "WITH before AS (SELECT t.format FROM onceward.records t WHERE t.scope = $1), "
    "put AS (INSERT INTO onceward.records AS t (scope, operation_id, state, epoch, owner, "
    "fingerprint_version, "
    "fingerprint, tenant, operation, key_hint, owner_tag, leaves, probe_target, cause, status_seen, "
    "bytes_seen, "
    "earlier_too, created_at, claimed_at, updated_at, lease_until, hold_until, expires_at, purge_at, ttl, "
    "receipt_ttl, reference, unique_mark, unique_keep, unique_refuses, suspect_mark, suspect_keep, "
    "suspect_refuses, resource_type, resource_id, failure_code, response_status, response_headers, "
    "response_body, body_omitted) "
    "SELECT $1, $2, $3::onceward.state, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::onceward.cause, "
    "$15, "
    "$16, $17, onceward.clock($18), onceward.clock($19), onceward.clock($20), onceward.clock($21), "
    "onceward.clock($22), timestamptz 'epoch' + $23 * interval '1 millisecond', "
    "timestamptz 'epoch' + $24 * interval '1 millisecond', $25 * interval '1 millisecond', "
    "$26 * interval '1 millisecond', $27, $28, $29 * interval '1 millisecond', $30, $31, "
    "$32 * interval '1 millisecond', $33, $34, $35, $36, $37, $38, $39, $40 "
    "WHERE $41::bigint IS NULL OR onceward.clock($42) < onceward.clock($41) "
    "ON CONFLICT (scope) DO UPDATE SET operation_id = excluded.operation_id, state = excluded.state, "
    "epoch = excluded.epoch, owner = excluded.owner, fingerprint_version = excluded.fingerprint_version, "
    "fingerprint = excluded.fingerprint, tenant = excluded.tenant, operation = excluded.operation, "
    "key_hint = excluded.key_hint, owner_tag = excluded.owner_tag, leaves = excluded.leaves, "
    "probe_target = excluded.probe_target, cause = excluded.cause, status_seen = excluded.status_seen, "
    "bytes_seen = excluded.bytes_seen, earlier_too = excluded.earlier_too, created_at = excluded.created_at, "
    "claimed_at = excluded.claimed_at, updated_at = excluded.updated_at, lease_until = excluded.lease_until, "
    "hold_until = excluded.hold_until, expires_at = excluded.expires_at, purge_at = excluded.purge_at, "
    "ttl = excluded.ttl, receipt_ttl = excluded.receipt_ttl, reference = excluded.reference, "
    "unique_mark = excluded.unique_mark, unique_keep = excluded.unique_keep, "
    "unique_refuses = excluded.unique_refuses, suspect_mark = excluded.suspect_mark, "
    "suspect_keep = excluded.suspect_keep, suspect_refuses = excluded.suspect_refuses, "
    "resource_type = excluded.resource_type, resource_id = excluded.resource_id, "
    "failure_code = excluded.failure_code, response_status = excluded.response_status, "
    "response_headers = excluded.response_headers, response_body = excluded.response_body, "
    "body_omitted = excluded.body_omitted "
    "WHERE t.format = 1 AND (onceward.is_gone(t, onceward.clock($42)) OR (t.operation_id = "
    "excluded.operation_id "
    "AND (t.epoch < excluded.epoch OR (t.epoch = excluded.epoch AND ("
    "array_position('{claimed,processing,unknown,released,succeeded,failed,expired}'::text[], "
    "excluded.state::text) > "
    "array_position('{claimed,processing,unknown,released,succeeded,failed,expired}'::text[], "
    "onceward.state_at(t, onceward.clock($42))::text) "
    "AND NOT (t.state = 'succeeded' AND excluded.state = 'failed') "
    "OR (excluded.state = onceward.state_at(t, onceward.clock($42)) "
    "AND excluded.state IN ('claimed', 'processing') AND excluded.lease_until > t.lease_until)))))) "
    "RETURNING t.*), "
    "marked AS (INSERT INTO onceward.marks AS m (mark, kind, scope, operation_id, since, until) "
    "SELECT p.unique_mark, 'unique'::onceward.mark_kind, p.scope, p.operation_id, p.claimed_at, "
    "CASE WHEN p.state = 'succeeded' THEN p.updated_at + p.unique_keep END "
    "FROM put p WHERE p.unique_mark IS NOT NULL AND p.state NOT IN ('failed', 'released') "
    "UNION ALL SELECT p.suspect_mark, 'suspect', p.scope, p.operation_id, p.claimed_at, "
    "p.claimed_at + p.suspect_keep "
    "FROM put p WHERE p.suspect_mark IS NOT NULL AND p.state NOT IN ('failed', 'released') "
    "ON CONFLICT (mark) DO UPDATE SET until = excluded.until "
    "WHERE m.scope = excluded.scope AND m.operation_id = excluded.operation_id), "
    "dropped AS (DELETE FROM onceward.marks m USING put p WHERE p.state IN ('failed', 'released') "
    "AND m.mark IN (p.unique_mark, p.suspect_mark) AND m.scope = p.scope "
    "AND m.operation_id = p.operation_id) "
    "SELECT (SELECT count(*) FROM put), coalesce((SELECT format FROM before), 1::smallint)";

std::int64_t milliseconds(Timestamp time) { return time.time_since_epoch().count(); }

std::optional<std::int64_t> milliseconds(const std::optional<Timestamp>& time) {
  return time ? std::optional(milliseconds(*time)) : std::nullopt;
}

}  // namespace

Statement adopt_statement(const Record& copy, TestTime now) {
  Statement statement(adopt_sql);
  statement.bytes(copy.scope).uuid(copy.operation_id).word(to_string(copy.state));
  statement.big(static_cast<std::int64_t>(copy.epoch)).uuid(copy.owner).number(copy.fingerprint.version);
  if (copy.fingerprint.bound()) {
    statement.bytes(copy.fingerprint.digest);
  } else {
    statement.no_bytes();
  }
  const RequestInfo& info = *copy.request;
  statement.text(to_text(info.tenant)).text(to_text(info.operation)).text(to_text(info.key_hint));
  statement.text(to_text(info.owner_tag)).own_bytes(encode_leaves(info.leaves));
  statement.text(to_text(info.probe_target)).word(to_string(copy.evidence.cause));
  statement.number(copy.evidence.status_seen).big(static_cast<std::int64_t>(copy.evidence.bytes_seen));
  statement.flag(copy.evidence.earlier_too).big(milliseconds(copy.created_at));
  statement.big(milliseconds(copy.claimed_at)).big(milliseconds(copy.updated_at));
  statement.big(milliseconds(copy.lease_until)).big(milliseconds(copy.hold_until));
  const std::optional<Timestamp> gone = gone_at(copy);
  statement.optional_big(gone ? std::optional(milliseconds(copy.expires_at)) : std::nullopt);
  // What a purge does first: a receipt of what was answered, or away with it.
  const bool has_answer = copy.state == State::succeeded || copy.state == State::failed;
  statement.optional_big(has_answer ? std::optional(milliseconds(copy.expires_at)) : milliseconds(gone));
  statement.big(copy.ttl.count()).big(copy.receipt_ttl.count());
  statement.optional_text(info.reference.empty() ? std::nullopt : std::optional(to_text(info.reference)));
  add_mark(statement, info.marks, MarkKind::unique);
  add_mark(statement, info.marks, MarkKind::suspect);
  add_result(statement, copy.result.get());
  add_response(statement, copy.response.get());
  statement.optional_big(milliseconds(gone)).optional_big(now);
  return statement;
}

Result<bool> read_adopt(const PGresult& result) {
  if (PQntuples(&result) != 1) return no_answer();
  Row row(result, 0);
  const std::int64_t written = row.big();
  if (row.small() != 1) return error_of("unreadable");
  if (!row.ok()) return no_answer();
  return written == 1;
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
  const std::optional<MarkHolder> standing = read_standing(row);
  if (!row.ok()) return no_answer();
  if (answer->verdict == "marked") return ClaimReply{false, {}, standing};
  Result<Record> record = as_of(*answer, read_record(row));
  if (!record) return record.error();
  const bool granted = answer->verdict == "granted" || answer->verdict == "mine";
  if (granted) record->request = request.request;
  return ClaimReply{granted, std::move(*record), standing};
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
