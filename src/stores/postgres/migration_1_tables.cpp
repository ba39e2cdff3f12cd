// Version 1 of the schema: tables, types and indexes. Its verbs are in migration_1_verbs.cpp. A migration
// that was released is never changed: a new one follows it.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_1_tables = R"sql(
CREATE TYPE onceward.state AS ENUM
  ('claimed', 'processing', 'succeeded', 'failed', 'released', 'unknown', 'expired');
CREATE TYPE onceward.cause AS ENUM
  ('none', 'timeout', 'reset', 'half_answer', 'upstream_status', 'owner_lost', 'store_failure', 'declared',
   'shutdown');

CREATE TABLE onceward.records (
  scope               bytea PRIMARY KEY CHECK (octet_length(scope) = 32),
  operation_id        uuid NOT NULL UNIQUE,
  format              smallint NOT NULL DEFAULT 1,
  state               onceward.state NOT NULL,
  epoch               bigint NOT NULL CHECK (epoch > 0),
  owner               uuid NOT NULL,
  fingerprint_version integer NOT NULL,
  fingerprint         bytea,
  tenant              text NOT NULL,
  operation           text NOT NULL,
  key_hint            text NOT NULL,
  owner_tag           text NOT NULL,
  leaves              bytea NOT NULL,
  probe_target        text NOT NULL DEFAULT '',
  cause               onceward.cause NOT NULL DEFAULT 'none',
  status_seen         integer NOT NULL DEFAULT 0,
  bytes_seen          bigint NOT NULL DEFAULT 0,
  earlier_too         boolean NOT NULL DEFAULT false,
  created_at          timestamptz NOT NULL,
  claimed_at          timestamptz NOT NULL,
  updated_at          timestamptz NOT NULL,
  lease_until         timestamptz NOT NULL,
  hold_until          timestamptz NOT NULL,
  expires_at          timestamptz,
  purge_at            timestamptz,
  ttl                 interval NOT NULL,
  receipt_ttl         interval NOT NULL,
  response_status     integer,
  response_headers    bytea,
  response_body       bytea,
  body_omitted        boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

COMMENT ON TABLE onceward.records IS 'One row per idempotency key and operation; written by the functions of this schema only';
COMMENT ON COLUMN onceward.records.scope IS 'hash of tenant, caller, operation and key';
COMMENT ON COLUMN onceward.records.operation_id IS 'made at the first claim, the same through all epochs';
COMMENT ON COLUMN onceward.records.format IS 'what the columns mean; a program refuses rows of a newer format';
COMMENT ON COLUMN onceward.records.state IS 'as last written: a processing row past lease_until is unknown, a final one past expires_at is expired';
COMMENT ON COLUMN onceward.records.epoch IS 'counts the claims of this record; only grows';
COMMENT ON COLUMN onceward.records.owner IS 'nonce of the claim; all zero once an operator has decided';
COMMENT ON COLUMN onceward.records.fingerprint IS 'of the request the key belongs to; null: any request may take it';
COMMENT ON COLUMN onceward.records.leaves IS 'pointers and keyed digests of the JSON body''s leaves';
COMMENT ON COLUMN onceward.records.probe_target IS 'what a probe asks for when the outcome is unknown';
COMMENT ON COLUMN onceward.records.earlier_too IS 'an earlier epoch''s outcome is unknown too';
COMMENT ON COLUMN onceward.records.purge_at IS 'when a purge has something to do; null while the record is open';

-- Few rows are open at a time, so the index is small however many are stored.
CREATE INDEX records_open ON onceward.records (lease_until)
  WHERE state IN ('claimed', 'processing', 'unknown');
CREATE INDEX records_expiring ON onceward.records (purge_at) WHERE purge_at IS NOT NULL;
-- Prefixes: a name of any length must fit into an index entry.
CREATE INDEX records_by_operation ON onceward.records (left(operation, 100), scope);
CREATE INDEX records_by_tenant ON onceward.records (left(tenant, 100), scope);

-- Who waits for a record to leave claimed or processing. Commits that notify wait for each other, so only
-- verbs that find a row here notify.
CREATE UNLOGGED TABLE onceward.watches (
  scope bytea PRIMARY KEY,
  since timestamptz NOT NULL
);
)sql";

}  // namespace onceward::postgres
