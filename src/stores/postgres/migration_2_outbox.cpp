// Version 2 of the schema: what writes and changes events. They are read by a plain query (outbox.cpp).
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_2_outbox = R"sql(
-- Writes events of a record, in their order, once each. Whoever calls it holds the record's row, so that
-- transactions that write events of one scope take turns.
CREATE FUNCTION onceward.put_events(p_scope bytea, p_ids text[], p_types text[], p_content_types text[],
  p_payloads bytea[], p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  last_ready timestamptz;
BEGIN
  IF coalesce(cardinality(p_ids), 0) = 0 THEN RETURN; END IF;
  -- No earlier than what is before them. The lock makes a relay that is putting that off take turns with us.
  SELECT o.ready_at INTO last_ready FROM onceward.outbox o
  WHERE o.scope = p_scope AND NOT o.set_aside ORDER BY o.sequence DESC LIMIT 1 FOR SHARE;
  INSERT INTO onceward.outbox (id, scope, type, content_type, payload, created_at, due_at, ready_at)
  SELECT e.id, p_scope, e.type, e.content_type, e.payload, p_at, p_at, greatest(p_at, last_ready)
  FROM unnest(p_ids, p_types, p_content_types, p_payloads) WITH ORDINALITY AS e(id, type, content_type, payload, n)
  ORDER BY e.n
  ON CONFLICT (id) DO NOTHING;
END $$;

-- Makes ready_at of every event of these scopes what it must be, after one of them has changed.
CREATE FUNCTION onceward.line_up(p_scopes bytea[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOOP  -- again after a change: it may have waited for a transaction that wrote another event
    UPDATE onceward.outbox o SET ready_at = n.ready_at
    FROM (SELECT e.sequence, max(e.due_at) OVER (PARTITION BY e.scope ORDER BY e.sequence) AS ready_at
          FROM onceward.outbox e WHERE e.scope = ANY (p_scopes) AND NOT e.set_aside) AS n
    WHERE o.sequence = n.sequence AND o.ready_at <> n.ready_at;
    EXIT WHEN NOT FOUND;
  END LOOP;
END $$;

-- Only by the relay whose claim is the current one (I3); the lock keeps it that until this is committed.
CREATE FUNCTION onceward.settle_events(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid,
  p_delivered text[], p_failed text[], p_errors text[], p_retry_after bigint[], p_set_aside boolean[], p_now bigint,
  OUT verdict text, OUT settled bigint) LANGUAGE plpgsql AS $$
DECLARE
  r onceward.records;
  decided_at timestamptz;
  more bigint;
  moved bytea[];
  moved_too bytea[];
BEGIN
  SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope FOR SHARE;
  decided_at := onceward.clock(p_now);
  IF r.scope IS NULL OR r.format <> 1 OR r.operation_id <> p_operation_id OR r.epoch <> p_epoch OR r.owner <> p_owner
     OR r.state <> 'processing' OR decided_at >= r.lease_until THEN
    verdict := 'stale';
    RETURN;
  END IF;
  verdict := 'settled';
  WITH gone AS (DELETE FROM onceward.outbox o WHERE o.id = ANY (p_delivered) RETURNING o.scope, o.due_at)
  SELECT count(*), array_agg(gone.scope) FILTER (WHERE gone.due_at > decided_at) INTO settled, moved FROM gone;
  WITH failed AS (
    UPDATE onceward.outbox o SET attempts = o.attempts + 1, last_error = f.error, set_aside = f.set_aside,
      due_at = decided_at + f.retry_after * interval '1 millisecond'
    FROM unnest(p_failed, p_errors, p_retry_after, p_set_aside) AS f(id, error, retry_after, set_aside)
    WHERE o.id = f.id AND NOT o.set_aside RETURNING o.scope)
  SELECT count(*), array_agg(failed.scope) INTO more, moved_too FROM failed;
  settled := settled + more;
  moved := moved || moved_too;
  IF cardinality(moved) > 0 THEN PERFORM onceward.line_up(moved); END IF;
END $$;

-- Null: everything that was set aside. Due at once, unless one before it in its scope is not.
CREATE FUNCTION onceward.retry_events(p_ids text[], p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  decided_at CONSTANT timestamptz := onceward.clock(p_now);
  changed bigint;
  moved bytea[];
BEGIN
  WITH retried AS (
    UPDATE onceward.outbox o SET set_aside = false, attempts = 0, last_error = '', due_at = decided_at
    WHERE o.set_aside AND (p_ids IS NULL OR o.id = ANY (p_ids)) RETURNING o.scope)
  SELECT count(*), array_agg(retried.scope) INTO changed, moved FROM retried;
  IF changed > 0 THEN PERFORM onceward.line_up(moved); END IF;
  RETURN changed;
END $$;

-- Exact up to 100,000 that wait; beyond that the planner's estimate, because counting them would read them.
CREATE FUNCTION onceward.outbox_stats(OUT pending bigint, OUT set_aside bigint, OUT oldest timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  exact_max CONSTANT bigint := 100000;
BEGIN
  SELECT count(*) INTO set_aside FROM (SELECT 1 FROM onceward.outbox o WHERE o.set_aside LIMIT exact_max) AS few;
  SELECT count(*) INTO pending FROM (SELECT 1 FROM onceward.outbox o WHERE NOT o.set_aside LIMIT exact_max) AS few;
  IF pending = exact_max THEN
    SELECT greatest(c.reltuples::bigint - set_aside, exact_max) INTO pending FROM pg_class c
    WHERE c.oid = 'onceward.outbox'::regclass;
  END IF;
  SELECT o.created_at INTO oldest FROM onceward.outbox o WHERE NOT o.set_aside ORDER BY o.sequence LIMIT 1;
END $$;
)sql";

}  // namespace onceward::postgres
