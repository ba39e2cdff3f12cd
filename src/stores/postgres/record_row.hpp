// A Record from a row of onceward.records. Pure. What cannot be read is Errc::unreadable, never a miss (I5).
#pragma once

#include "onceward/result.hpp"
#include "onceward/values.hpp"
#include "stores/postgres/row.hpp"

namespace onceward::postgres {

// The columns that read_record takes, in order, each with the prefix `r.` or `(v.r).` put before it.
#define ONCEWARD_RECORD_COLUMNS(R)    \
  ONCEWARD_COLUMNS_BEFORE_RESPONSE(R) \
  ", " R "response_status, " R "response_headers, " R "response_body, " R "body_omitted"
#define ONCEWARD_COLUMNS_BEFORE_RESPONSE(R)                                                                 \
  R "scope, " R "operation_id, " R "format, " R "state, " R "epoch, " R "owner, " R                         \
    "fingerprint_version, " R "fingerprint, " R "tenant, " R "operation, " R "key_hint, " R "owner_tag, " R \
    "leaves, " R "probe_target, " R "cause, " R "status_seen, " R "bytes_seen, " R "earlier_too, " R        \
    "created_at, " R "claimed_at, " R "updated_at, " R "lease_until, " R "hold_until, " R "expires_at, " R  \
    "ttl, " R "receipt_ttl, " R "reference, " R "unique_mark, " R "unique_keep, " R "unique_refuses, " R    \
    "suspect_mark, " R "suspect_keep, " R "suspect_refuses, " R "resource_type, " R "resource_id, " R       \
    "failure_code"

Result<Record> read_record(Row& row);

}  // namespace onceward::postgres
