// Version 2 of the schema: a claim takes its marks with it.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_2_claim = R"sql(
-- A record that an owner finds as it left it may have been committed without its synchronous standby: when a
-- commit's waiting was ended (its backend killed, the wait cancelled) it stays committed here. A reading
-- transaction does not wait for standbys, one that takes a lock does: its commit comes after the other.
CREATE FUNCTION onceward.await_standby(p_scope bytea) RETURNS void LANGUAGE sql AS $$
  SELECT 1 FROM onceward.records t WHERE t.scope = p_scope FOR UPDATE
$$;

-- As in version 1; what its owner finds unchanged is waited for.
CREATE OR REPLACE FUNCTION onceward.standing(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope;
  decided_at := onceward.clock(p_now);
  IF r.scope IS NULL THEN verdict := 'not_found';
  ELSIF r.format <> 1 THEN verdict := 'unreadable';
  ELSIF onceward.is_gone(r, decided_at) THEN verdict := 'not_found';
  ELSIF r.operation_id <> p_operation_id OR r.epoch <> p_epoch OR r.owner <> p_owner THEN verdict := 'stale';
  ELSE PERFORM onceward.await_standby(p_scope);
  END IF;
END $$;

-- As in version 1; with marks, the record is granted only if none stands that refuses (verdict `marked`: r is
-- null and nothing was written). Otherwise `standing` is one that was met and taken over.
CREATE FUNCTION onceward.claim(p_scope bytea, p_operation_id uuid, p_owner uuid, p_start text,
  p_fingerprint_version integer, p_fingerprint bytea, p_tenant text, p_operation text, p_key_hint text,
  p_owner_tag text, p_leaves bytea, p_probe_target text, p_lease bigint, p_max_hold bigint, p_ttl bigint, p_receipt_ttl bigint,
  p_take_unknown boolean, p_reference text, p_unique_mark bytea, p_unique_keep bigint, p_unique_refuses boolean,
  p_suspect_mark bytea, p_suspect_keep bigint, p_suspect_refuses boolean, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz, OUT standing onceward.marks) LANGUAGE plpgsql AS $$
DECLARE
  ms CONSTANT interval := interval '1 millisecond';
  has_marks CONSTANT boolean := p_unique_mark IS NOT NULL OR p_suspect_mark IS NOT NULL;
  marks_locked boolean := NOT has_marks;
  locked boolean := false;
  misses integer := 0;
  met record;
  at_once onceward.state;
  next_epoch bigint;
BEGIN
  LOOP
    decided_at := onceward.clock(p_now);
    IF NOT locked THEN
      IF has_marks THEN
        -- Looked at first: nothing may be written before the marks are known to be free.
        SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope;
        IF r.scope IS NULL THEN
          IF NOT marks_locked THEN
            PERFORM onceward.lock_mark(p_unique_mark);
            PERFORM onceward.lock_mark(p_suspect_mark);
            marks_locked := true;
            CONTINUE;  -- whoever held the locks may have claimed this very key
          END IF;
          SELECT m.* INTO met FROM onceward.meet_marks(p_unique_mark, p_unique_refuses, p_suspect_mark,
            p_suspect_refuses, p_scope, p_operation_id, decided_at) m;
          standing := met.standing;
          IF met.refused THEN
            verdict := 'marked';
            RETURN;
          END IF;
        END IF;
      END IF;
      IF NOT has_marks OR r.scope IS NULL THEN
        INSERT INTO onceward.records AS t (scope, operation_id, state, epoch, owner, fingerprint_version, fingerprint,
          tenant, operation, key_hint, owner_tag, leaves, probe_target, created_at, claimed_at, updated_at, lease_until, hold_until,
          ttl, receipt_ttl, reference, unique_mark, unique_keep, unique_refuses, suspect_mark, suspect_keep, suspect_refuses)
        VALUES (p_scope, p_operation_id, p_start::onceward.state, 1, p_owner, p_fingerprint_version, p_fingerprint,
          p_tenant, p_operation, p_key_hint, p_owner_tag, p_leaves, p_probe_target, decided_at, decided_at, decided_at,
          decided_at + least(p_lease, p_max_hold) * ms, decided_at + p_max_hold * ms, p_ttl * ms, p_receipt_ttl * ms,
          p_reference, p_unique_mark, p_unique_keep * ms, p_unique_refuses, p_suspect_mark, p_suspect_keep * ms, p_suspect_refuses)
        ON CONFLICT DO NOTHING RETURNING t.* INTO r;  -- of the scope, or of an operation id that a contender made too
        IF FOUND THEN
          IF has_marks THEN PERFORM onceward.take_marks(r, decided_at); END IF;
          verdict := 'granted';
          r.leaves := '';
          RETURN;
        END IF;
        -- A duplicate that cannot run is told so without a lock: it must not hold up the owner (I7).
        SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope;
      END IF;
    ELSE
      SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope FOR UPDATE;
      decided_at := onceward.clock(p_now);
    END IF;
    IF r.scope IS NULL THEN  -- purged meanwhile
      misses := misses + 1;
      IF misses > 100 THEN RAISE EXCEPTION 'operation id % belongs to another scope', p_operation_id; END IF;
      locked := false;
      CONTINUE;
    END IF;
    standing := NULL;
    IF r.format <> 1 THEN
      verdict := 'unreadable';
      RETURN;
    END IF;
    IF onceward.is_gone(r, decided_at) THEN
      next_epoch := 1;
    ELSE
      at_once := onceward.state_at(r, decided_at);
      IF r.owner = p_owner THEN
        verdict := CASE WHEN at_once IN ('claimed', 'processing') THEN 'mine' ELSE 'refused' END;
        IF verdict = 'mine' THEN PERFORM onceward.await_standby(p_scope); END IF;
        RETURN;
      END IF;
      IF NOT (at_once = 'released'
              OR (at_once = 'claimed' AND decided_at >= r.lease_until AND (NOT r.earlier_too OR p_take_unknown))
              OR (at_once = 'unknown' AND p_take_unknown))
         OR NOT (r.fingerprint_version = 0
                 OR (r.fingerprint_version = p_fingerprint_version AND r.fingerprint = p_fingerprint)) THEN
        verdict := 'refused';
        RETURN;
      END IF;
      next_epoch := r.epoch + 1;
    END IF;
    EXIT WHEN locked;
    IF marks_locked THEN
      locked := true;  -- it may run: decide again under the lock
    ELSE
      PERFORM onceward.lock_mark(p_unique_mark);
      PERFORM onceward.lock_mark(p_suspect_mark);
      marks_locked := true;
    END IF;
  END LOOP;
  IF has_marks THEN
    SELECT m.* INTO met FROM onceward.meet_marks(p_unique_mark, p_unique_refuses, p_suspect_mark,
      p_suspect_refuses, p_scope, CASE WHEN next_epoch = 1 THEN p_operation_id ELSE r.operation_id END, decided_at) m;
    standing := met.standing;
    IF met.refused THEN
      verdict := 'marked';
      r := NULL;
      RETURN;
    END IF;
  END IF;
  UPDATE onceward.records AS t SET
    operation_id = CASE WHEN next_epoch = 1 THEN p_operation_id ELSE t.operation_id END,
    created_at = CASE WHEN next_epoch = 1 THEN decided_at ELSE t.created_at END,
    earlier_too = next_epoch <> 1 AND (at_once = 'unknown' OR t.earlier_too),
    epoch = next_epoch, owner = p_owner, state = p_start::onceward.state,
    fingerprint_version = p_fingerprint_version, fingerprint = p_fingerprint,
    tenant = p_tenant, operation = p_operation, key_hint = p_key_hint, owner_tag = p_owner_tag, leaves = p_leaves,
    probe_target = p_probe_target, reference = p_reference,
    unique_mark = p_unique_mark, unique_keep = p_unique_keep * ms, unique_refuses = p_unique_refuses,
    suspect_mark = p_suspect_mark, suspect_keep = p_suspect_keep * ms, suspect_refuses = p_suspect_refuses,
    cause = 'none', status_seen = 0, bytes_seen = 0,
    claimed_at = decided_at, updated_at = decided_at,
    lease_until = decided_at + least(p_lease, p_max_hold) * ms, hold_until = decided_at + p_max_hold * ms,
    expires_at = NULL, purge_at = NULL, ttl = p_ttl * ms, receipt_ttl = p_receipt_ttl * ms,
    response_status = NULL, response_headers = NULL, response_body = NULL, body_omitted = false,
    resource_type = NULL, resource_id = NULL, failure_code = NULL
  WHERE t.scope = p_scope RETURNING t.* INTO r;
  IF has_marks THEN PERFORM onceward.take_marks(r, decided_at); END IF;
  verdict := 'granted';
  r.leaves := '';
END $$;

-- What programs of version 1 call.
CREATE OR REPLACE FUNCTION onceward.claim(p_scope bytea, p_operation_id uuid, p_owner uuid, p_start text,
  p_fingerprint_version integer, p_fingerprint bytea, p_tenant text, p_operation text, p_key_hint text,
  p_owner_tag text, p_leaves bytea, p_probe_target text, p_lease bigint, p_max_hold bigint, p_ttl bigint, p_receipt_ttl bigint,
  p_take_unknown boolean, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE sql AS $$
  SELECT c.verdict, c.r, c.decided_at FROM onceward.claim(p_scope, p_operation_id, p_owner, p_start,
    p_fingerprint_version, p_fingerprint, p_tenant, p_operation, p_key_hint, p_owner_tag, p_leaves, p_probe_target,
    p_lease, p_max_hold, p_ttl, p_receipt_ttl, p_take_unknown, NULL, NULL, NULL, NULL, NULL, NULL, NULL, p_now) c
$$;
)sql";

}  // namespace onceward::postgres
