// Version 1 of the schema: what is not on the path of a request: purge, statistics, wake-ups, and a view
// for people.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_1_chores = R"sql(
-- Removes what is past its time and turns into receipts what keeps one. Many machines may do it at once:
-- each skips what another holds.
CREATE FUNCTION onceward.purge(p_chunk integer, p_now bigint,
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
      response_status = NULL, response_headers = NULL, response_body = NULL, body_omitted = false
    FROM due WHERE t.scope = due.scope AND NOT due.gone RETURNING 1
  )
  SELECT (SELECT count(*) FROM due), (SELECT count(*) FROM deleted), (SELECT count(*) FROM kept)
  INTO looked_at, removed, receipts;
  DELETE FROM onceward.watches WHERE since < clock_timestamp() - interval '1 hour';
END $$;

-- An operator's purge: in the order of scopes, only what it names. `reached` is where the next step goes on.
CREATE FUNCTION onceward.purge_named(p_chunk integer, p_after bytea, p_final_too boolean, p_operation text,
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
      response_status = NULL, response_headers = NULL, response_body = NULL, body_omitted = false
    FROM page
    WHERE t.scope = page.scope AND page.format = 1 AND page.named AND page.past AND NOT page.gone AND NOT p_final_too
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM deleted), (SELECT count(*) FROM kept),
    (SELECT p.scope FROM page p ORDER BY p.scope DESC LIMIT 1)
  INTO looked_at, removed, receipts, reached;
END $$;

-- Exact for small tables; a large one is estimated, because counting it would read it.
CREATE FUNCTION onceward.stats(p_now bigint,
  OUT records bigint, OUT open_records bigint, OUT bytes bigint, OUT purge_lag_ms bigint) LANGUAGE plpgsql AS $$
DECLARE
  exact_max CONSTANT bigint := 10000;
BEGIN
  SELECT count(*) INTO records FROM (SELECT 1 FROM onceward.records LIMIT exact_max) AS few;
  IF records = exact_max THEN
    SELECT greatest(c.reltuples::bigint, exact_max) INTO records FROM pg_class c
    WHERE c.oid = 'onceward.records'::regclass;
  END IF;
  SELECT count(*) INTO open_records FROM (
    SELECT 1 FROM onceward.records t WHERE t.state IN ('claimed', 'processing', 'unknown') LIMIT 100000) AS few;
  bytes := pg_total_relation_size('onceward.records');
  SELECT coalesce(greatest((extract(epoch FROM onceward.clock(p_now) - min(t.purge_at)) * 1000)::bigint, 0), 0)
  INTO purge_lag_ms FROM onceward.records t WHERE t.purge_at IS NOT NULL;
END $$;

-- True: the record is still held and whoever ends it will notify. False: it already left. The lock makes the
-- two take turns: either the verb that ends the record sees the watch, or the watch sees the end.
CREATE FUNCTION onceward.watch(p_scope bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  held boolean;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);  -- nothing here needs to survive anything
  INSERT INTO onceward.watches AS w (scope, since) VALUES (p_scope, clock_timestamp())
  ON CONFLICT (scope) DO UPDATE SET since = excluded.since;
  SELECT t.state IN ('claimed', 'processing') INTO held FROM onceward.records t WHERE t.scope = p_scope FOR SHARE;
  RETURN coalesce(held, false);
END $$;

CREATE VIEW onceward.readable AS
SELECT encode(t.scope, 'hex') AS scope, t.operation_id,
  CASE WHEN onceward.is_gone(t, now()) THEN 'gone' ELSE onceward.state_at(t, now())::text END AS state,
  t.epoch, t.tenant, t.operation, t.key_hint, t.cause, t.created_at, t.updated_at, t.lease_until, t.expires_at,
  t.response_status, octet_length(t.response_body) AS body_bytes
FROM onceward.records t;
COMMENT ON VIEW onceward.readable IS 'The records as they are now, for people';
)sql";

}  // namespace onceward::postgres
