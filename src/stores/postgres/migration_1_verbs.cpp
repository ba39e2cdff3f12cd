// Version 1 of the schema: the verbs that change one record. They mirror core/transition.cpp, which is the
// reference: each is one statement for its caller, decided by the server's clock, and atomic because the
// deciding statement is a single INSERT or UPDATE, or runs under the row's lock.
//
// A verb answers with a verdict, the row, and the time it decided at. `granted` and `changed` rows are as
// written; all others are as stored, and whoever asked applies leases and ttls of that time to them.
// The last parameter is the time in milliseconds since 1970 for tests; null: the server's clock.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_1_verbs = R"sql(
CREATE FUNCTION onceward.clock(p_now bigint) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN p_now IS NULL THEN date_trunc('milliseconds', clock_timestamp())
              ELSE timestamptz 'epoch' + p_now * interval '1 millisecond' END
$$;

CREATE FUNCTION onceward.is_gone(r onceward.records, decided_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN r.state IN ('succeeded', 'failed', 'expired') THEN decided_at >= r.expires_at + r.receipt_ttl
              WHEN r.state = 'released' THEN decided_at >= r.expires_at
              ELSE false END
$$;

-- What the row's state is at a time: lapsed leases and passed ttls applied (not whether it is gone).
CREATE FUNCTION onceward.state_at(r onceward.records, decided_at timestamptz) RETURNS onceward.state
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN r.state = 'processing' AND decided_at >= r.lease_until THEN 'unknown'::onceward.state
              WHEN r.state IN ('succeeded', 'failed') AND decided_at >= r.expires_at THEN 'expired'::onceward.state
              ELSE r.state END
$$;

-- Wakes whoever waits for this record, on any machine.
CREATE FUNCTION onceward.wake(p_scope bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM onceward.watches WHERE scope = p_scope;
  IF FOUND THEN PERFORM pg_notify('onceward', encode(p_scope, 'hex')); END IF;
END $$;

-- Why a verb of an owner could not change the row: what its caller learns when the fence itself is right
-- is left to the verb (verdict null).
CREATE FUNCTION onceward.standing(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope;
  decided_at := onceward.clock(p_now);
  IF r.scope IS NULL THEN verdict := 'not_found';
  ELSIF r.format <> 1 THEN verdict := 'unreadable';
  ELSIF onceward.is_gone(r, decided_at) THEN verdict := 'not_found';
  ELSIF r.operation_id <> p_operation_id OR r.epoch <> p_epoch OR r.owner <> p_owner THEN verdict := 'stale';
  END IF;
END $$;

CREATE FUNCTION onceward.claim(p_scope bytea, p_operation_id uuid, p_owner uuid, p_start text,
  p_fingerprint_version integer, p_fingerprint bytea, p_tenant text, p_operation text, p_key_hint text,
  p_owner_tag text, p_leaves bytea, p_probe_target text, p_lease bigint, p_max_hold bigint, p_ttl bigint, p_receipt_ttl bigint,
  p_take_unknown boolean, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  ms CONSTANT interval := interval '1 millisecond';
  locked boolean := false;
  misses integer := 0;
  at_once onceward.state;
  next_epoch bigint;
BEGIN
  LOOP
    decided_at := onceward.clock(p_now);
    IF NOT locked THEN
      INSERT INTO onceward.records AS t (scope, operation_id, state, epoch, owner, fingerprint_version, fingerprint,
        tenant, operation, key_hint, owner_tag, leaves, probe_target, created_at, claimed_at, updated_at, lease_until, hold_until,
        ttl, receipt_ttl)
      VALUES (p_scope, p_operation_id, p_start::onceward.state, 1, p_owner, p_fingerprint_version, p_fingerprint,
        p_tenant, p_operation, p_key_hint, p_owner_tag, p_leaves, p_probe_target, decided_at, decided_at, decided_at,
        decided_at + least(p_lease, p_max_hold) * ms, decided_at + p_max_hold * ms, p_ttl * ms, p_receipt_ttl * ms)
      ON CONFLICT DO NOTHING RETURNING t.* INTO r;  -- of the scope, or of an operation id that a contender made too
      IF FOUND THEN
        verdict := 'granted';
        r.leaves := '';
        RETURN;
      END IF;
      -- A duplicate that cannot run is told so without a lock: it must not hold up the owner (I7).
      SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope;
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
    locked := true;  -- it may run: decide again under the lock
  END LOOP;
  UPDATE onceward.records AS t SET
    operation_id = CASE WHEN next_epoch = 1 THEN p_operation_id ELSE t.operation_id END,
    created_at = CASE WHEN next_epoch = 1 THEN decided_at ELSE t.created_at END,
    earlier_too = next_epoch <> 1 AND (at_once = 'unknown' OR t.earlier_too),
    epoch = next_epoch, owner = p_owner, state = p_start::onceward.state,
    fingerprint_version = p_fingerprint_version, fingerprint = p_fingerprint,
    tenant = p_tenant, operation = p_operation, key_hint = p_key_hint, owner_tag = p_owner_tag, leaves = p_leaves,
    probe_target = p_probe_target,
    cause = 'none', status_seen = 0, bytes_seen = 0,
    claimed_at = decided_at, updated_at = decided_at,
    lease_until = decided_at + least(p_lease, p_max_hold) * ms, hold_until = decided_at + p_max_hold * ms,
    expires_at = NULL, purge_at = NULL, ttl = p_ttl * ms, receipt_ttl = p_receipt_ttl * ms,
    response_status = NULL, response_headers = NULL, response_body = NULL, body_omitted = false
  WHERE t.scope = p_scope RETURNING t.* INTO r;
  verdict := 'granted';
  r.leaves := '';
END $$;

CREATE FUNCTION onceward.dispatch(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  s record;
BEGIN
  decided_at := onceward.clock(p_now);
  UPDATE onceward.records AS t SET state = 'processing', updated_at = decided_at
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.owner = p_owner
    AND t.format = 1 AND t.state = 'claimed' AND decided_at < t.lease_until
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    RETURN;
  END IF;
  SELECT f.* INTO s FROM onceward.standing(p_scope, p_operation_id, p_epoch, p_owner, p_now) f;
  verdict := s.verdict;
  r := s.r;
  decided_at := s.decided_at;
  IF verdict IS NULL THEN
    verdict := CASE onceward.state_at(r, decided_at)
      WHEN 'processing' THEN 'unchanged' WHEN 'claimed' THEN 'stale' ELSE 'conflict' END;
  END IF;
END $$;

CREATE FUNCTION onceward.renew(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_lease bigint,
  p_now bigint, OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  s record;
BEGIN
  decided_at := onceward.clock(p_now);
  UPDATE onceward.records AS t
  SET lease_until = least(decided_at + p_lease * interval '1 millisecond', t.hold_until)
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.owner = p_owner
    AND t.format = 1 AND t.state IN ('claimed', 'processing') AND decided_at < t.lease_until
    AND least(decided_at + p_lease * interval '1 millisecond', t.hold_until) > t.lease_until
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    RETURN;
  END IF;
  SELECT f.* INTO s FROM onceward.standing(p_scope, p_operation_id, p_epoch, p_owner, p_now) f;
  verdict := s.verdict;
  r := s.r;
  decided_at := s.decided_at;
  IF verdict IS NULL THEN
    verdict := CASE WHEN onceward.state_at(r, decided_at) NOT IN ('claimed', 'processing') THEN 'conflict'
                    WHEN decided_at >= r.lease_until THEN 'stale' ELSE 'unchanged' END;
  END IF;
END $$;

-- A lapsed lease does not matter here: while the epoch stands, its owner's word counts.
CREATE FUNCTION onceward.complete(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_as text,
  p_ttl bigint, p_status integer, p_headers bytea, p_body bytea, p_body_omitted boolean, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  s record;
BEGIN
  decided_at := onceward.clock(p_now);
  UPDATE onceward.records AS t SET
    state = p_as::onceward.state, updated_at = decided_at,
    ttl = coalesce(p_ttl * interval '1 millisecond', t.ttl),
    expires_at = decided_at + coalesce(p_ttl * interval '1 millisecond', t.ttl),
    purge_at = decided_at + coalesce(p_ttl * interval '1 millisecond', t.ttl),
    response_status = p_status, response_headers = p_headers, response_body = p_body, body_omitted = p_body_omitted,
    cause = 'none', status_seen = 0, bytes_seen = 0, earlier_too = false
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.owner = p_owner
    AND t.format = 1 AND t.state IN ('claimed', 'processing', 'unknown')
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    PERFORM onceward.wake(p_scope);
  ELSE
    SELECT f.* INTO s FROM onceward.standing(p_scope, p_operation_id, p_epoch, p_owner, p_now) f;
    verdict := s.verdict;
    r := s.r;
    decided_at := s.decided_at;
    IF verdict IS NULL THEN
      -- The reply of this very completion was lost and it is asked again (I10).
      verdict := CASE WHEN r.state::text = p_as AND decided_at < r.expires_at AND r.response_status = p_status
                       AND r.body_omitted = p_body_omitted AND r.response_headers = p_headers
                       AND r.response_body = p_body THEN 'unchanged' ELSE 'conflict' END;
    END IF;
  END IF;
  r.response_headers := NULL;  -- whoever completes has them
  r.response_body := NULL;
END $$;

CREATE FUNCTION onceward.release(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_unbind boolean,
  p_now bigint, OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  s record;
BEGIN
  decided_at := onceward.clock(p_now);
  -- This epoch had no effect; if an earlier one may have had, the key goes back to being unknown (I4).
  UPDATE onceward.records AS t SET
    state = CASE WHEN t.earlier_too THEN 'unknown'::onceward.state ELSE 'released'::onceward.state END,
    cause = CASE WHEN t.earlier_too THEN 'declared'::onceward.cause ELSE 'none'::onceward.cause END,
    status_seen = 0, bytes_seen = 0, updated_at = decided_at,
    expires_at = CASE WHEN t.earlier_too THEN t.expires_at ELSE decided_at + t.ttl END,
    purge_at = CASE WHEN t.earlier_too THEN NULL ELSE decided_at + t.ttl END,
    fingerprint_version = CASE WHEN p_unbind AND NOT t.earlier_too THEN 0 ELSE t.fingerprint_version END,
    fingerprint = CASE WHEN p_unbind AND NOT t.earlier_too THEN NULL ELSE t.fingerprint END
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.owner = p_owner
    AND t.format = 1 AND t.state IN ('claimed', 'processing', 'unknown')
    AND NOT (t.earlier_too AND t.state = 'unknown')
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    PERFORM onceward.wake(p_scope);
    RETURN;
  END IF;
  SELECT f.* INTO s FROM onceward.standing(p_scope, p_operation_id, p_epoch, p_owner, p_now) f;
  verdict := s.verdict;
  r := s.r;
  decided_at := s.decided_at;
  IF verdict IS NULL THEN
    verdict := CASE WHEN r.state IN ('released', 'unknown') THEN 'unchanged' ELSE 'conflict' END;
  END IF;
END $$;

CREATE FUNCTION onceward.unknown(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_cause text,
  p_status_seen integer, p_bytes_seen bigint, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  s record;
BEGIN
  decided_at := onceward.clock(p_now);
  UPDATE onceward.records AS t SET
    state = 'unknown', updated_at = decided_at,
    cause = p_cause::onceward.cause, status_seen = p_status_seen, bytes_seen = p_bytes_seen
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.owner = p_owner
    AND t.format = 1 AND t.state IN ('claimed', 'processing')
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    PERFORM onceward.wake(p_scope);
    RETURN;
  END IF;
  SELECT f.* INTO s FROM onceward.standing(p_scope, p_operation_id, p_epoch, p_owner, p_now) f;
  verdict := s.verdict;
  r := s.r;
  decided_at := s.decided_at;
  IF verdict IS NULL THEN
    verdict := CASE WHEN r.state = 'unknown' THEN 'unchanged' ELSE 'conflict' END;
  END IF;
END $$;

-- By epoch, not by owner: fences the owner out (I3).
CREATE FUNCTION onceward.resolve(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_as text,
  p_status integer, p_headers bytea, p_body bytea, p_body_omitted boolean, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
BEGIN
  decided_at := onceward.clock(p_now);
  UPDATE onceward.records AS t SET
    state = p_as::onceward.state, owner = '00000000-0000-0000-0000-000000000000', updated_at = decided_at,
    expires_at = decided_at + t.ttl, purge_at = decided_at + t.ttl,
    response_status = p_status, response_headers = p_headers, response_body = p_body, body_omitted = p_body_omitted,
    cause = 'none', status_seen = 0, bytes_seen = 0, earlier_too = false
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.format = 1
    AND (t.state IN ('claimed', 'processing', 'unknown') OR (t.state = 'released' AND decided_at < t.expires_at))
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    PERFORM onceward.wake(p_scope);
    RETURN;
  END IF;
  SELECT t.* INTO r FROM onceward.records t WHERE t.scope = p_scope;
  decided_at := onceward.clock(p_now);
  verdict := CASE WHEN r.scope IS NULL THEN 'not_found'
                  WHEN r.format <> 1 THEN 'unreadable'
                  WHEN onceward.is_gone(r, decided_at) OR r.operation_id <> p_operation_id THEN 'not_found'
                  WHEN r.epoch <> p_epoch THEN 'stale'
                  ELSE 'conflict' END;
END $$;
)sql";

}  // namespace onceward::postgres
