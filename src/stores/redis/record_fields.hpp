// A record as the fields of a Redis hash: text, so that a person can read it with redis-cli. The scripts
// write them, this reads what a script replies, strictly. Pure.
#pragma once

#include <string>
#include <string_view>

#include "onceward/result.hpp"
#include "onceward/values.hpp"
#include "stores/redis/resp.hpp"

namespace onceward::redis {

// `<prefix>{<16 hex digits>}`: the 62 bits that a scope and its operation id share, so that either finds the
// record, and in braces, so that whatever is ever kept beside it has the same slot.
std::string key_of(std::string_view prefix, const Scope& scope);
std::string key_of(std::string_view prefix, const OperationId& id);

std::string leaves_text(const std::vector<Leaf>& leaves);

// The record in a script's reply: a word, then field and value in turn. Some replies leave the response's
// headers and body out: the asker has them and gives them as `response`, or does not want them.
enum class Bodies : std::uint8_t { included, left_out };
Result<Record> read_record(const redisReply& reply, Bodies bodies,
                           const std::shared_ptr<const Response>& response = nullptr);

// What `complete_held.lua` replies: when it wrote the outcome, and the record as it was before.
struct Completed {
  Timestamp at;
  Record was;
};
Result<Completed> read_completed(const redisReply& reply, const Scope& scope);
// What `claim_new.lua` replies: when it wrote the claim.
Result<Timestamp> read_claimed_at(const redisReply& reply);

}  // namespace onceward::redis
