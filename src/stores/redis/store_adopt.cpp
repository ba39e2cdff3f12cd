// Taking records of another store as they are, on the I/O thread.
#include "base/hex.hpp"
#include "stores/redis/store_impl.hpp"

namespace onceward::redis {
namespace {

// The fields of a record as the scripts write them.
class Fields {
 public:
  explicit Fields(Arguments& out) : out_(out) {}
  Fields& text(const char* name, std::string value) { return out_.add(name).add(std::move(value)), *this; }
  Fields& bytes(const char* name, std::string_view value) { return out_.add(name).add(value), *this; }
  Fields& number(const char* name, std::uint64_t value) { return text(name, std::to_string(value)); }
  Fields& time(const char* name, Timestamp at) {
    return text(name, std::to_string(at.time_since_epoch().count()));
  }
  // Fields of what is not the case do not exist.
  Fields& number_if_any(const char* name, std::uint64_t value) { return value ? number(name, value) : *this; }
  Fields& yes(const char* name, bool is_so) { return is_so ? bytes(name, "yes") : *this; }

 private:
  Arguments& out_;
};

void add_request(Fields& fields, const RequestInfo& request) {
  fields.bytes("tenant", request.tenant).bytes("operation", request.operation);
  fields.bytes("key_hint", request.key_hint).bytes("owner_tag", request.owner_tag);
  fields.text("leaves", leaves_text(request.leaves));
  if (!request.probe_target.empty()) fields.bytes("probe_target", request.probe_target);
  if (!request.reference.empty()) fields.bytes("reference", request.reference);
  for (const Mark& mark : request.marks) {
    const bool is_unique = mark.kind == MarkKind::unique;
    fields.text(is_unique ? "unique_mark" : "suspect_mark", to_hex(mark.scope.data));
    fields.number(is_unique ? "unique_keep" : "suspect_keep", static_cast<std::uint64_t>(mark.keep.count()));
    fields.bytes(is_unique ? "unique_refuses" : "suspect_refuses", mark.refuses ? "yes" : "no");
  }
}

void add_evidence(Fields& fields, const Evidence& evidence) {
  if (evidence.cause != UnknownCause::none) fields.text("cause", std::string(to_string(evidence.cause)));
  fields.number_if_any("status_seen", evidence.status_seen).number_if_any("bytes_seen", evidence.bytes_seen);
  fields.yes("earlier_too", evidence.earlier_too);
}

void add_response(Fields& fields, const Response& response) {
  fields.number("status", response.status).yes("body_omitted", response.body_omitted);
  fields.bytes("headers", response.headers).bytes("body", response.body);
}

void add_record(Fields& fields, const Record& record) {
  fields.text("v", "1").text("state", std::string(to_string(record.state))).number("epoch", record.epoch);
  fields.text("scope", to_hex(record.scope.data)).text("operation_id", to_string(record.operation_id));
  fields.text("owner", to_hex(record.owner.data));
  fields.number("fingerprint_version", record.fingerprint.version);
  if (record.fingerprint.bound()) fields.text("fingerprint", to_hex(record.fingerprint.digest.data));
  fields.time("created_at", record.created_at).time("claimed_at", record.claimed_at);
  fields.time("updated_at", record.updated_at).time("lease_until", record.lease_until);
  fields.time("hold_until", record.hold_until).time("expires_at", record.expires_at);
  fields.number("ttl", static_cast<std::uint64_t>(record.ttl.count()));
  fields.number("receipt_ttl", static_cast<std::uint64_t>(record.receipt_ttl.count()));
  add_request(fields, *record.request);
  add_evidence(fields, record.evidence);
  if (record.response) add_response(fields, *record.response);
  if (!record.result) return;
  fields.bytes("resource_type", record.result->resource_type);
  fields.bytes("resource_id", record.result->resource_id);
  fields.bytes("failure_code", record.result->failure_code);
}

Error no_marks_here() { return {Errc::refused, "a cluster cannot keep marks together with their records"}; }

}  // namespace

bool StoreImpl::adopt(const Record& copy, Reply<bool>& reply) {
  return begin(reply, [this, &copy] { return do_adopt(copy); });
}

Task<Result<bool>> StoreImpl::do_adopt(const Record& copy) {
  if (!copy.request->marks.empty() && !keeps_marks()) co_return no_marks_here();
  receipts_ = receipts_ || copy.receipt_ttl > Duration{};
  Arguments arguments = arguments_for(to_hex(copy.scope.data));
  arguments.add(url_.wait_replicas != 0);
  Fields fields(arguments);
  add_record(fields, copy);
  co_return co_await run_adoption(scripts().adopt, copy.scope, arguments);
}

bool StoreImpl::list_marks(const ListMarksRequest& request, Reply<ListMarksReply>& reply) {
  return begin(reply, [this, &request] { return do_list_marks(request); });
}

bool StoreImpl::adopt_mark(const AdoptMarkRequest& request, Reply<bool>& reply) {
  return begin(reply, [this, &request] { return do_adopt_mark(request); });
}

Task<Result<bool>> StoreImpl::do_adopt_mark(const AdoptMarkRequest& request) {
  const MarkEntry& copy = request.copy;
  if (!keeps_marks()) co_return no_marks_here();
  if (!copy.until) co_return false;
  Arguments arguments = arguments_for(to_hex(copy.holder.scope.data));
  arguments.add(request.only_ask).add(url_.wait_replicas != 0);
  arguments.add(copy.holder.kind == MarkKind::unique ? "unique" : "suspect").add(to_hex(copy.scope.data));
  arguments.add(to_string(copy.holder.operation_id));
  arguments.add(std::to_string(copy.until->time_since_epoch().count()));
  co_return co_await run_adoption(scripts().adopt_mark, copy.holder.scope, arguments);
}

Task<Result<bool>> StoreImpl::run_adoption(const Script& script, const Scope& scope,
                                           const Arguments& arguments) {
  const Result<Answer> answer = co_await run(script, key_of(url_.prefix, scope), arguments, true);
  if (!answer) co_return answer.error();
  const std::string_view word = word_of(*answer->reply);
  if (word != "adopted" && word != "kept") co_return record_in(*answer->reply, Bodies::left_out).error();
  if (!answer->replicated) co_return Error{Errc::unavailable, "too few replicas have the copy"};
  co_return word == "adopted";
}

}  // namespace onceward::redis
