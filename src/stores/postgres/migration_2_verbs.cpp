// Version 2 of the schema: the verbs that end a record end its marks and write its events in the same
// statement.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_2_verbs = R"sql(
-- A lapsed lease does not matter here: while the epoch stands, its owner's word counts.
CREATE FUNCTION onceward.complete(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_as text,
  p_ttl bigint, p_status integer, p_headers bytea, p_body bytea, p_body_omitted boolean,
  p_resource_type text, p_resource_id text, p_failure_code text,
  p_event_ids text[], p_event_types text[], p_event_content_types text[], p_event_payloads bytea[], p_now bigint,
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
    resource_type = p_resource_type, resource_id = p_resource_id, failure_code = p_failure_code,
    cause = 'none', status_seen = 0, bytes_seen = 0, earlier_too = false
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.owner = p_owner
    AND t.format = 1 AND t.state IN ('claimed', 'processing', 'unknown')
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    PERFORM onceward.end_marks(r, decided_at);
    PERFORM onceward.put_events(p_scope, p_event_ids, p_event_types, p_event_content_types, p_event_payloads, decided_at);
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

CREATE OR REPLACE FUNCTION onceward.release(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_unbind boolean,
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
    PERFORM onceward.end_marks(r, decided_at);
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

-- By epoch, not by owner: fences the owner out (I3).
CREATE FUNCTION onceward.resolve(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_as text,
  p_status integer, p_headers bytea, p_body bytea, p_body_omitted boolean,
  p_resource_type text, p_resource_id text, p_failure_code text,
  p_event_ids text[], p_event_types text[], p_event_content_types text[], p_event_payloads bytea[], p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE plpgsql AS $$
BEGIN
  decided_at := onceward.clock(p_now);
  UPDATE onceward.records AS t SET
    state = p_as::onceward.state, owner = '00000000-0000-0000-0000-000000000000', updated_at = decided_at,
    expires_at = decided_at + t.ttl, purge_at = decided_at + t.ttl,
    response_status = p_status, response_headers = p_headers, response_body = p_body, body_omitted = p_body_omitted,
    resource_type = p_resource_type, resource_id = p_resource_id, failure_code = p_failure_code,
    cause = 'none', status_seen = 0, bytes_seen = 0, earlier_too = false
  WHERE t.scope = p_scope AND t.operation_id = p_operation_id AND t.epoch = p_epoch AND t.format = 1
    AND t.state IN ('claimed', 'processing', 'unknown')
  RETURNING t.* INTO r;
  IF FOUND THEN
    verdict := 'changed';
    PERFORM onceward.end_marks(r, decided_at);
    PERFORM onceward.put_events(p_scope, p_event_ids, p_event_types, p_event_content_types, p_event_payloads, decided_at);
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

-- What programs of version 1 call.
CREATE OR REPLACE FUNCTION onceward.complete(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_owner uuid, p_as text,
  p_ttl bigint, p_status integer, p_headers bytea, p_body bytea, p_body_omitted boolean, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE sql AS $$
  SELECT c.verdict, c.r, c.decided_at FROM onceward.complete(p_scope, p_operation_id, p_epoch, p_owner, p_as, p_ttl,
    p_status, p_headers, p_body, p_body_omitted, NULL, NULL, NULL, NULL, NULL, NULL, NULL, p_now) c
$$;
CREATE OR REPLACE FUNCTION onceward.resolve(p_scope bytea, p_operation_id uuid, p_epoch bigint, p_as text,
  p_status integer, p_headers bytea, p_body bytea, p_body_omitted boolean, p_now bigint,
  OUT verdict text, OUT r onceward.records, OUT decided_at timestamptz) LANGUAGE sql AS $$
  SELECT c.verdict, c.r, c.decided_at FROM onceward.resolve(p_scope, p_operation_id, p_epoch, p_as,
    p_status, p_headers, p_body, p_body_omitted, NULL, NULL, NULL, NULL, NULL, NULL, NULL, p_now) c
$$;
)sql";

}  // namespace onceward::postgres
