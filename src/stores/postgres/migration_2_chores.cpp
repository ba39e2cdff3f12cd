// Version 2 of the schema: purges that know of marks, and the view for people with what is new.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_2_chores = R"sql(
CREATE OR REPLACE FUNCTION onceward.purge(p_chunk integer, p_now bigint,
  OUT looked_at bigint, OUT removed bigint, OUT receipts bigint) LANGUAGE plpgsql AS $$
DECLARE
  decided_at timestamptz := onceward.clock(p_now);
BEGIN
  WITH due AS (
    SELECT t.scope, onceward.is_gone(t, decided_at) AS gone FROM onceward.records t
    WHERE t.purge_at <= decided_at AND t.format = 1
    ORDER BY t.purge_at LIMIT p_chunk FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM onceward.records t USING due WHERE t.scope = due.scope AND due.gone RETURNING 1
  ), kept AS (
    UPDATE onceward.records t SET
      state = 'expired', updated_at = t.expires_at, purge_at = t.expires_at + t.receipt_ttl, leaves = '', probe_target = '',
      unique_mark = NULL, unique_keep = NULL, unique_refuses = NULL,
      suspect_mark = NULL, suspect_keep = NULL, suspect_refuses = NULL,
      response_status = NULL, response_headers = NULL, response_body = NULL, body_omitted = false
    FROM due WHERE t.scope = due.scope AND NOT due.gone RETURNING 1
  )
  SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM deleted), (SELECT count(*) FROM kept)
  INTO looked_at, removed, receipts;
  looked_at := greatest(looked_at, onceward.purge_marks(p_chunk, decided_at));
  DELETE FROM onceward.watches WHERE since < clock_timestamp() - interval '1 hour';
END $$;

-- The record first, then the watch, as in the verbs: the other way round a verb that ends the record and a watch of it
-- waited for each other.
CREATE OR REPLACE FUNCTION onceward.watch(p_scope bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  held boolean;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);  -- nothing here needs to survive anything
  SELECT t.state IN ('claimed', 'processing') INTO held FROM onceward.records t WHERE t.scope = p_scope FOR SHARE;
  INSERT INTO onceward.watches AS w (scope, since) VALUES (p_scope, clock_timestamp())
  ON CONFLICT (scope) DO UPDATE SET since = excluded.since;
  RETURN coalesce(held, false);
END $$;

CREATE OR REPLACE FUNCTION onceward.purge_named(p_chunk integer, p_after bytea, p_final_too boolean, p_operation text,
  p_tenant text, p_updated_before bigint, p_now bigint,
  OUT looked_at bigint, OUT removed bigint, OUT receipts bigint, OUT reached bytea) LANGUAGE plpgsql AS $$
DECLARE
  decided_at timestamptz := onceward.clock(p_now);
BEGIN
  WITH page AS (
    SELECT t.scope, t.format, onceward.is_gone(t, decided_at) AS gone,
      (p_operation IS NULL OR t.operation = p_operation) AND (p_tenant IS NULL OR t.tenant = p_tenant)
      AND (p_updated_before IS NULL OR t.updated_at < onceward.clock(p_updated_before)) AS named,
      t.state IN ('succeeded', 'failed', 'expired') AS final,
      t.state IN ('succeeded', 'failed') AND decided_at >= t.expires_at AS past
    FROM onceward.records t WHERE t.scope > p_after ORDER BY t.scope LIMIT p_chunk FOR UPDATE
  ), deleted AS (
    DELETE FROM onceward.records t USING page
    WHERE t.scope = page.scope AND page.format = 1 AND page.named AND (page.gone OR (page.final AND p_final_too))
    RETURNING 1
  ), kept AS (
    UPDATE onceward.records t SET
      state = 'expired', updated_at = t.expires_at, purge_at = t.expires_at + t.receipt_ttl, leaves = '', probe_target = '',
      unique_mark = NULL, unique_keep = NULL, unique_refuses = NULL,
      suspect_mark = NULL, suspect_keep = NULL, suspect_refuses = NULL,
      response_status = NULL, response_headers = NULL, response_body = NULL, body_omitted = false
    FROM page
    WHERE t.scope = page.scope AND page.format = 1 AND page.named AND page.past AND NOT page.gone AND NOT p_final_too
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM deleted), (SELECT count(*) FROM kept),
    (SELECT p.scope FROM page p ORDER BY p.scope DESC LIMIT 1)
  INTO looked_at, removed, receipts, reached;
END $$;

CREATE OR REPLACE VIEW onceward.readable AS
SELECT encode(t.scope, 'hex') AS scope, t.operation_id,
  CASE WHEN onceward.is_gone(t, now()) THEN 'gone' ELSE onceward.state_at(t, now())::text END AS state,
  t.epoch, t.tenant, t.operation, t.key_hint, t.cause, t.created_at, t.updated_at, t.lease_until, t.expires_at,
  t.response_status, octet_length(t.response_body) AS body_bytes,
  t.reference, t.resource_type, t.resource_id, t.failure_code
FROM onceward.records t;
)sql";

}  // namespace onceward::postgres
