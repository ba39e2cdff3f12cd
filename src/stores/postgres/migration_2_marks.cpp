// Version 2 of the schema: marks as core/marks.cpp has them. A claim locks the names of its marks before it
// looks at them, so that two claims of one mark take turns whatever their keys are; the unique one first, so
// that claims whose marks cross cannot wait for each other. Records are locked after names and rows of marks
// after records, by every function.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_2_marks = R"sql(
-- Until the end of the transaction. A lock by name, because there may be no row to lock yet.
CREATE FUNCTION onceward.lock_mark(p_mark bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_mark IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(('x' || encode(substr(p_mark, 1, 8), 'hex'))::bit(64)::bigint);
  END IF;
END $$;

-- The entry of another operation that stands at a time, or null.
CREATE FUNCTION onceward.standing_mark(p_mark bytea, p_scope bytea, p_operation_id uuid, p_at timestamptz)
RETURNS onceward.marks LANGUAGE plpgsql AS $$
DECLARE
  m onceward.marks;
BEGIN
  IF p_mark IS NULL THEN RETURN NULL; END IF;
  -- One statement, one view: the entry and its holder's record change together.
  SELECT e.* INTO m FROM onceward.marks e
  LEFT JOIN onceward.records t ON t.scope = e.scope AND t.operation_id = e.operation_id
    AND NOT onceward.is_gone(t, p_at)
  WHERE e.mark = p_mark AND NOT (e.scope = p_scope AND e.operation_id = p_operation_id)
    AND CASE
      WHEN onceward.state_at(t, p_at) IN ('released', 'failed') THEN false
      WHEN t.state = 'claimed' AND p_at >= t.lease_until AND NOT t.earlier_too THEN false
      WHEN e.until IS NOT NULL THEN p_at < e.until
      ELSE coalesce(t.state IN ('claimed', 'processing', 'unknown'), false) END;
  RETURN m;
END $$;

-- What stands in the way of a claim. `refused`: the claim must not be granted.
CREATE FUNCTION onceward.meet_marks(p_unique_mark bytea, p_unique_refuses boolean, p_suspect_mark bytea,
  p_suspect_refuses boolean, p_scope bytea, p_operation_id uuid, p_at timestamptz,
  OUT refused boolean, OUT standing onceward.marks) LANGUAGE plpgsql AS $$
DECLARE
  alike onceward.marks;
BEGIN
  standing := onceward.standing_mark(p_unique_mark, p_scope, p_operation_id, p_at);
  refused := standing.mark IS NOT NULL AND p_unique_refuses;
  IF refused THEN RETURN; END IF;
  alike := onceward.standing_mark(p_suspect_mark, p_scope, p_operation_id, p_at);
  refused := alike.mark IS NOT NULL AND p_suspect_refuses;
  IF refused OR standing.mark IS NULL THEN standing := alike; END IF;
END $$;

CREATE FUNCTION onceward.take_marks(r onceward.records, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO onceward.marks AS m (mark, kind, scope, operation_id, since, until)
  SELECT r.unique_mark, 'unique', r.scope, r.operation_id, p_at, NULL WHERE r.unique_mark IS NOT NULL
  ON CONFLICT (mark) DO UPDATE SET kind = excluded.kind, scope = excluded.scope,
    operation_id = excluded.operation_id, since = excluded.since, until = excluded.until;
  INSERT INTO onceward.marks AS m (mark, kind, scope, operation_id, since, until)
  SELECT r.suspect_mark, 'suspect', r.scope, r.operation_id, p_at, p_at + r.suspect_keep WHERE r.suspect_mark IS NOT NULL
  ON CONFLICT (mark) DO UPDATE SET kind = excluded.kind, scope = excluded.scope,
    operation_id = excluded.operation_id, since = excluded.since, until = excluded.until;
END $$;

-- What the end of a record does to its marks: kept from now on, or free. Another's entry is left alone.
CREATE FUNCTION onceward.end_marks(r onceward.records, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF r.unique_mark IS NULL AND r.suspect_mark IS NULL THEN RETURN; END IF;
  IF r.state = 'succeeded' THEN
    -- Also when the entry is gone: its claim had lapsed, another took the mark over and gave it back.
    INSERT INTO onceward.marks AS m (mark, kind, scope, operation_id, since, until)
    SELECT r.unique_mark, 'unique', r.scope, r.operation_id, p_at, p_at + r.unique_keep WHERE r.unique_mark IS NOT NULL
    ON CONFLICT (mark) DO UPDATE SET until = excluded.until
    WHERE m.scope = excluded.scope AND m.operation_id = excluded.operation_id;
  ELSIF r.state IN ('failed', 'released') THEN
    DELETE FROM onceward.marks m
    WHERE m.mark = r.unique_mark AND m.scope = r.scope AND m.operation_id = r.operation_id;
    DELETE FROM onceward.marks m
    WHERE m.mark = r.suspect_mark AND m.scope = r.scope AND m.operation_id = r.operation_id;
  END IF;
END $$;

-- At most p_chunk that are past their time; how many there were.
CREATE FUNCTION onceward.purge_marks(p_chunk integer, p_at timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  removed bigint;
BEGIN
  WITH due AS (
    SELECT m.mark FROM onceward.marks m WHERE m.until <= p_at ORDER BY m.until LIMIT p_chunk FOR UPDATE SKIP LOCKED
  )
  DELETE FROM onceward.marks m USING due WHERE m.mark = due.mark;
  GET DIAGNOSTICS removed = ROW_COUNT;
  -- A record that was claimed again with another mark leaves its old one behind when it goes. An entry that is
  -- taken at this moment is too young for this, whatever was seen of its record.
  WITH left_behind AS (
    SELECT m.mark FROM onceward.marks m
    WHERE m.until IS NULL AND m.since < p_at - interval '1 hour' AND NOT EXISTS (
      SELECT 1 FROM onceward.records t WHERE t.scope = m.scope AND t.operation_id = m.operation_id)
    ORDER BY m.since LIMIT p_chunk FOR UPDATE SKIP LOCKED
  )
  DELETE FROM onceward.marks m USING left_behind WHERE m.mark = left_behind.mark;
  RETURN removed;
END $$;
)sql";

}  // namespace onceward::postgres
