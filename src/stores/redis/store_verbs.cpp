// The verbs that concern one record, on the I/O thread.
#include "base/hex.hpp"
#include "core/transition.hpp"
#include "stores/redis/store_impl.hpp"

namespace onceward::redis {
namespace {

constexpr bool unbind = true;

void append_script(std::string& out, std::string_view command, std::string_view script,
                   const std::string& key, const Arguments& arguments) {
  std::vector<std::string_view> all{command, script, "1", key};
  all.insert(all.end(), arguments.views().begin(), arguments.views().end());
  append_command(out, all);
}

std::optional<MarkHolder> standing_in(const redisReply& reply) {
  std::optional<MarkHolder> holder;
  const auto elements = elements_of(reply);
  for (std::size_t at = 1; at + 1 < elements.size(); at += 2) {
    const std::string_view name = text_of(*elements[at]);
    if (!name.starts_with("standing_")) continue;
    if (!holder) holder.emplace();
    const std::string_view value = text_of(*elements[at + 1]);
    if (name == "standing_kind") holder->kind = value == "suspect" ? MarkKind::suspect : MarkKind::unique;
    if (name == "standing_scope") from_hex(value, holder->scope.data);
    if (name == "standing_operation_id")
      holder->operation_id = operation_id_from_string(value).value_or(OperationId{});
  }
  return holder;
}

bool is_noscript(const Call& call) {
  return call.reply && is_error(**call.reply) && text_of(**call.reply).starts_with("NOSCRIPT");
}

// The usual claim and the usual completion reply only what the caller does not know; what they wrote is what
// the rules say.
Result<Record> claimed_now(const ClaimRequest& request, const redisReply& reply) {
  const Result<Timestamp> at = read_claimed_at(reply);
  if (!at) return at.error();
  ClaimRequest written = request;
  for (Duration* duration : {&written.lease, &written.max_hold, &written.ttl, &written.receipt_ttl})
    *duration = within_bounds(*duration);
  return std::move(transition(nullptr, written, *at).reply.record);
}

Result<Record> completed_now(const CompleteRequest& request, const redisReply& reply) {
  const Result<Completed> completed = read_completed(reply, request.fence.scope);
  if (!completed) return completed.error();
  CompleteRequest written = request;
  if (written.ttl) written.ttl = within_bounds(*written.ttl);
  return transition(&completed->was, written, completed->at).reply;
}

// Marks and events are refused when the configuration is read; this is for who calls the store directly.
Error no_one_step() {
  return {Errc::refused, "a Redis cluster cannot change a record and its marks or events in one step"};
}

}  // namespace

std::string_view word_of(const redisReply& reply) {
  const auto elements = elements_of(reply);
  return elements.empty() ? std::string_view() : text_of(*elements[0]);
}

Result<Record> record_in(const redisReply& reply, Bodies bodies,
                         const std::shared_ptr<const Response>& response) {
  const auto elements = elements_of(reply);
  const std::string_view word = word_of(reply);
  const std::string more(elements.size() > 1 ? text_of(*elements[1]) : std::string_view());
  if (word == "ok" || word == "granted" || word == "refused") return read_record(reply, bodies, response);
  if (word == "not_found") return Error{Errc::not_found, "no such record"};
  if (word == "stale") return Error{Errc::stale, "the claim is not the current one of this record"};
  if (word == "conflict") return Error{Errc::conflict, more};
  if (word == "unreadable") return Error{Errc::unreadable, "stored record: " + more};
  if (word == "collision")
    return Error{Errc::refused, "another key's record has this one's name (their hashes agree in 62 bits)"};
  return Error{Errc::unavailable, "the reply is not one of our scripts'"};
}

Arguments StoreImpl::arguments_for(std::string_view scope_hex) const {
  Arguments arguments;
  arguments.add(clock_ ? clock_->now().time_since_epoch() : Duration{});
  arguments.add(std::string(scope_hex));
  return arguments;
}

Task<Result<Answer>> StoreImpl::run(const Script& script, const std::string& key, const Arguments& arguments,
                                    bool replicated) {
  Call call;
  call.replicated = replicated && url_.wait_replicas != 0;
  call.deadline = deadline() + (call.replicated ? url_.wait_timeout : Duration{});
  const std::uint16_t slot = slot_of(key);
  append_script(call.bytes, "EVALSHA", script.sha1, key, arguments);
  co_await router_.ask(slot, call);
  if (is_noscript(call)) {
    call.bytes.clear();
    call.replies = 1;
    append_script(call.bytes, "EVAL", script.source, key, arguments);
    co_await router_.ask(slot, call);
  }
  if (!call.reply) co_return call.reply.error();
  // Whatever went wrong inside the script, it may have written before.
  if (is_error(**call.reply)) co_return Error{Errc::unavailable, std::string(text_of(**call.reply))};
  const bool enough = !call.replicated || call.replicas >= url_.wait_replicas;
  co_return Answer{std::move(*call.reply), enough};
}

Task<Result<ClaimReply>> StoreImpl::do_claim(const ClaimRequest& request) {
  if (!request.request->marks.empty() && !keeps_marks()) co_return no_one_step();
  receipts_ = receipts_ || request.receipt_ttl > Duration{};
  Arguments arguments = arguments_for(to_hex(request.scope.data));
  arguments.add(to_string(request.operation_id))
      .add(to_hex(request.owner.data))
      .add(to_string(request.start));
  arguments.add(std::uint64_t{request.fingerprint.version}).add(to_hex(request.fingerprint.digest.data));
  arguments.add(request.lease).add(request.max_hold).add(request.ttl).add(request.receipt_ttl);
  arguments.add(request.take_unknown).add(url_.wait_replicas != 0);
  arguments.add(std::string_view(request.request->tenant)).add(std::string_view(request.request->operation));
  arguments.add(std::string_view(request.request->key_hint))
      .add(std::string_view(request.request->owner_tag));
  arguments.add(leaves_text(request.request->leaves)).add(std::string_view(request.request->probe_target));
  arguments.add(std::string_view(request.request->reference)).add(request.request->marks);
  const Result<Answer> answer =
      co_await run(scripts().claim, key_of(url_.prefix, request.scope), arguments, true);
  if (!answer) co_return answer.error();
  std::optional<MarkHolder> standing = standing_in(*answer->reply);
  if (word_of(*answer->reply) == "marked") co_return ClaimReply{false, {}, std::move(standing)};
  const bool is_new = word_of(*answer->reply) == "new";
  Result<Record> record =
      is_new ? claimed_now(request, *answer->reply) : record_in(*answer->reply, Bodies::included);
  if (!record) co_return record.error();
  const bool granted = is_new || word_of(*answer->reply) == "granted";
  if (!granted || answer->replicated) co_return ClaimReply{granted, std::move(*record), std::move(standing)};
  // A failover could forget it while the request runs. Nothing was sent yet, so it is given back.
  const Result<Record> released = co_await do_release({fence_of(*record), unbind});
  const std::string why = "too few replicas have the claim";
  if (!released)
    co_return Error{Errc::unavailable, why + ", and it could not be released: " + released.error().message};
  co_return Error{Errc::refused, why};
}

Task<Result<Record>> StoreImpl::do_fenced(const Script& script, const Fence& fence, Arguments more) {
  Arguments arguments = arguments_for(to_hex(fence.scope.data));
  arguments.add(fence);
  for (const std::string_view argument : more.views()) arguments.add(argument);
  const Result<Answer> answer = co_await run(script, key_of(url_.prefix, fence.scope), arguments);
  if (!answer) co_return answer.error();
  co_return record_in(*answer->reply, Bodies::left_out);
}

Task<Result<Record>> StoreImpl::do_complete(const CompleteRequest& request) {
  if (request.events && !request.events->empty() && !outbox()) co_return no_one_step();
  Arguments arguments = arguments_for(to_hex(request.fence.scope.data));
  arguments.add(request.fence).add(to_string(request.as));
  if (request.ttl) {
    arguments.add(*request.ttl);
  } else {
    arguments.add("");
  }
  arguments.add(url_.wait_replicas != 0).add(request.response).add(request.result).add(request.events);
  const Result<Answer> answer =
      co_await run(scripts().complete, key_of(url_.prefix, request.fence.scope), arguments, true);
  if (!answer) co_return answer.error();
  Result<Record> record = word_of(*answer->reply) == "completed"
                              ? completed_now(request, *answer->reply)
                              : record_in(*answer->reply, Bodies::left_out, request.response);
  if (record && !answer->replicated) co_return Error{Errc::unavailable, "too few replicas have the outcome"};
  co_return record;
}

Task<Result<Record>> StoreImpl::do_release(const ReleaseRequest& request) {
  Arguments more;
  more.add(request.unbind);
  co_return co_await do_fenced(scripts().release, request.fence, std::move(more));
}

Task<Result<Record>> StoreImpl::do_resolve(const ResolveRequest& request) {
  if (request.events && !request.events->empty() && !outbox()) co_return no_one_step();
  Arguments arguments = arguments_for(to_hex(request.scope.data));
  arguments.add(to_string(request.operation_id)).add(std::uint64_t{request.epoch}).add(to_string(request.as));
  const bool released = request.as == State::released;
  const std::shared_ptr<const Response> response = released ? nullptr : request.response;
  arguments.add(response).add(released ? nullptr : request.result).add(request.events);
  const Result<Answer> answer =
      co_await run(scripts().resolve, key_of(url_.prefix, request.scope), arguments);
  if (!answer) co_return answer.error();
  co_return record_in(*answer->reply, Bodies::left_out, response);
}

Task<Result<Record>> StoreImpl::do_lookup(std::string key, std::string scope, std::string operation_id) {
  Arguments arguments = arguments_for(scope);
  arguments.add(std::string_view(operation_id)).add(false);
  const Result<Answer> answer = co_await run(scripts().lookup, key, arguments);
  if (!answer) co_return answer.error();
  co_return record_in(*answer->reply, Bodies::included);
}

Task<Result<std::vector<RespReply>>> StoreImpl::run_all(Connection& primary, const Script& script,
                                                        const std::vector<std::string>& keys,
                                                        const Arguments& arguments) {
  std::vector<RespReply> replies;
  if (keys.empty()) co_return std::move(replies);
  Call call;
  call.all = &replies;
  call.replies = keys.size() + 1;
  call.deadline = deadline();
  append_command(call.bytes, {"SCRIPT", "LOAD", script.source});
  for (const std::string& key : keys) append_script(call.bytes, "EVALSHA", script.sha1, key, arguments);
  co_await router_.ask_primary(primary, call);
  if (!call.reply) co_return call.reply.error();
  replies.push_back(std::move(*call.reply));
  replies.erase(replies.begin());  // what SCRIPT LOAD said
  co_return std::move(replies);
}

}  // namespace onceward::redis
