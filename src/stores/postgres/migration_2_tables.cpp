// Version 2 of the schema: marks, the outbox, references and results. A program that knows version 1 only can
// go on using it: the functions that it calls are still there and say the same.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_2_tables = R"sql(
-- No defaults: nothing is rewritten, and rows that have none of these take no room for them.
ALTER TABLE onceward.records
  ADD COLUMN reference       text,
  ADD COLUMN resource_type   text,
  ADD COLUMN resource_id     text,
  ADD COLUMN failure_code    text,
  ADD COLUMN unique_mark     bytea,
  ADD COLUMN unique_keep     interval,
  ADD COLUMN unique_refuses  boolean,
  ADD COLUMN suspect_mark    bytea,
  ADD COLUMN suspect_keep    interval,
  ADD COLUMN suspect_refuses boolean;

COMMENT ON COLUMN onceward.records.reference IS 'the caller''s business reference';
COMMENT ON COLUMN onceward.records.resource_type IS 'what the operation came to; null: nothing is known of it';
COMMENT ON COLUMN onceward.records.unique_mark IS 'the mark in onceward.marks that this record took';

CREATE INDEX records_by_reference ON onceward.records (left(reference, 100), scope) WHERE reference IS NOT NULL;

CREATE TYPE onceward.mark_kind AS ENUM ('unique', 'suspect');

CREATE TABLE onceward.marks (
  mark         bytea PRIMARY KEY CHECK (octet_length(mark) = 32),
  kind         onceward.mark_kind NOT NULL,
  scope        bytea NOT NULL,
  operation_id uuid NOT NULL,
  since        timestamptz NOT NULL,
  until        timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

COMMENT ON TABLE onceward.marks IS 'Business facts and likenesses that a record has taken, so that another key meets them';
COMMENT ON COLUMN onceward.marks.scope IS 'of the record that holds it, which may be gone';
COMMENT ON COLUMN onceward.marks.until IS 'null: as long as the record is open';

CREATE INDEX marks_ending ON onceward.marks (until) WHERE until IS NOT NULL;
CREATE INDEX marks_held ON onceward.marks (since) WHERE until IS NULL;

-- What happened and is still to be told. Within one scope ready_at never falls from one event to the next
-- (those that were set aside apart), so that the order of ready_at and sequence, which an index has, is also
-- an order in which they may be sent: whoever writes here keeps it so (onceward.line_up).
CREATE TABLE onceward.outbox (
  sequence     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id           text NOT NULL UNIQUE,
  scope        bytea NOT NULL CHECK (octet_length(scope) = 32),
  partition    smallint NOT NULL GENERATED ALWAYS AS ((get_byte(scope, 0) & 15)::smallint) STORED,
  type         text NOT NULL,
  content_type text NOT NULL,
  payload      bytea NOT NULL,
  created_at   timestamptz NOT NULL,
  due_at       timestamptz NOT NULL,
  ready_at     timestamptz NOT NULL,
  attempts     integer NOT NULL DEFAULT 0,
  last_error   text NOT NULL DEFAULT '',
  set_aside    boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
        autovacuum_analyze_scale_factor = 0.05);

COMMENT ON TABLE onceward.outbox IS 'Events that were written with an outcome and wait to be sent';
COMMENT ON COLUMN onceward.outbox.id IS '<operation id>:<type>';
COMMENT ON COLUMN onceward.outbox.due_at IS 'not to be sent earlier';
COMMENT ON COLUMN onceward.outbox.ready_at IS 'the latest due_at of it and of those before it in its scope';
COMMENT ON COLUMN onceward.outbox.set_aside IS 'given up; kept until an operator retries it';

CREATE INDEX outbox_ready ON onceward.outbox (partition, ready_at, sequence) WHERE NOT set_aside;
CREATE INDEX outbox_by_scope ON onceward.outbox (scope, sequence) WHERE NOT set_aside;
CREATE INDEX outbox_set_aside ON onceward.outbox (sequence) WHERE set_aside;

-- A role that may use the records may use what they come with now.
DO $$
DECLARE
  role text;
BEGIN
  FOR role IN
    SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
    FROM pg_class c, aclexplode(c.relacl) a
    WHERE c.oid = 'onceward.records'::regclass AND a.privilege_type = 'DELETE' AND a.grantee <> c.relowner
  LOOP
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON onceward.marks, onceward.outbox TO ' || role;
  END LOOP;
END $$;
)sql";

}  // namespace onceward::postgres
