#include "api/record_json.hpp"

#include "api/response_json.hpp"
#include "api/result_json.hpp"
#include "base/time_text.hpp"

namespace onceward {
namespace {

boost::json::object evidence_json(const Evidence& evidence) {
  boost::json::object out;
  out["cause"] = to_string(evidence.cause);
  if (evidence.status_seen != 0) out["status_seen"] = evidence.status_seen;
  if (evidence.bytes_seen != 0) out["bytes_seen"] = evidence.bytes_seen;
  if (evidence.earlier_too) out["earlier_epoch_too"] = true;
  return out;
}

boost::json::object answer_json(const Response& response, bool reveal) {
  if (reveal && !response.body_omitted) return response_json(response);
  boost::json::object out;
  out["status"] = response.status;
  out["body_bytes"] = response.body.size();
  out["stored"] = !response.body_omitted;
  return out;
}

}  // namespace

boost::json::object record_json(const Record& record, bool reveal) {
  boost::json::object out;
  out["operation_id"] = to_string(record.operation_id);
  out["state"] = to_string(record.state);
  out["epoch"] = record.epoch;
  out["operation"] = record.request->operation;
  out["tenant"] = record.request->tenant;
  out["key"] = record.request->key_hint;
  if (!record.request->reference.empty()) out["reference"] = record.request->reference;
  out["created_at"] = time_text(record.created_at);
  out["claimed_at"] = time_text(record.claimed_at);
  out["updated_at"] = time_text(record.updated_at);
  if (record.state == State::claimed || record.state == State::processing)
    out["lease_expires_at"] = time_text(record.lease_until);
  if (is_final(record.state) || record.state == State::released)
    out["expires_at"] = time_text(record.expires_at);
  if (record.state == State::unknown) out["evidence"] = evidence_json(record.evidence);
  if (record.result) out["result"] = result_json(*record.result);
  if (record.response) out["response"] = answer_json(*record.response, reveal);
  return out;
}

}  // namespace onceward
