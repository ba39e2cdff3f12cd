// Version 3 of the schema: what a service calls inside a transaction of its own (docs/transactions.md). The
// token that it was handed names one claim; everything that is written becomes visible with the service's
// own rows or not at all.
//
// `begin` takes a lock of the operation (an advisory one), not of the record's row: the proxy goes on
// renewing the lease while the service works. What keeps a stale service out is `finish`, a compare-and-set
// on epoch and owner like every other verb (I3): whoever took over, resolved or released meanwhile makes it
// fail, and with it the service's transaction. From `finish` or `emit` to the end of the transaction the row
// is locked.
//
// These functions run as the owner of the schema, so that a service needs no right to read a record: the
// token is the right to one.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_3_transactions = R"sql(
-- core/transaction_token.cpp makes the same of a claim's nonce.
CREATE FUNCTION onceward.proof(p_owner uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT encode(substr(sha256(convert_to('onceward.token', 'UTF8') || uuid_send(p_owner)), 1, 16), 'hex')
$$;

-- The record whose current claim this token is of, as stored; an error for any other token.
CREATE FUNCTION onceward.record_of(p_token text) RETURNS onceward.records LANGUAGE plpgsql AS $$
DECLARE
  parts text[] := string_to_array(p_token, '.');
  r onceward.records;
BEGIN
  IF p_token IS NULL
     OR p_token !~ '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\.[0-9]{1,18}\.[0-9a-f]{32}$' THEN
    RAISE EXCEPTION 'onceward: this is not the value of a header Onceward-Token' USING ERRCODE = 'OW001';
  END IF;
  SELECT t.* INTO r FROM onceward.records t WHERE t.operation_id = parts[1]::uuid;
  -- What an operator or a probe decided has no owner, and so no token that anybody was handed.
  IF r.scope IS NULL OR r.epoch <> parts[2]::bigint OR onceward.proof(r.owner) <> parts[3]
     OR r.owner = '00000000-0000-0000-0000-000000000000'
     OR onceward.is_gone(r, onceward.clock(NULL)) THEN
    RAISE EXCEPTION 'onceward: the claim of this token is no longer the current one' USING ERRCODE = 'OW002',
      HINT = 'Another attempt took over, or an operator decided. Roll back: nothing of this attempt may count.';
  END IF;
  IF r.format <> 1 THEN
    RAISE EXCEPTION 'onceward: the record was written by a newer version' USING ERRCODE = 'OW005';
  END IF;
  RETURN r;
END $$;

-- A name as the store spells it (text.hpp).
CREATE FUNCTION onceward.as_name(p_text text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT replace(p_text, '\', '\x5c')
$$;

-- {"Name": "value" or ["value", ...], ...} or [["Name", "value"], ...] as the lines that a replay sends. What only
-- the proxy may say, what belongs to one connection, and what must not be replayed is left out.
CREATE FUNCTION onceward.header_lines(p_headers jsonb) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
  pair record;
  lines text := '';
  shape text := coalesce(jsonb_typeof(p_headers), 'null');
BEGIN
  IF shape NOT IN ('object', 'array', 'null') THEN
    RAISE EXCEPTION 'onceward: headers are an object or an array of pairs' USING ERRCODE = 'OW004';
  END IF;
  FOR pair IN
    SELECT o.key AS name, i.value #>> '{}' AS value, jsonb_typeof(i.value) AS kind, i.place
    FROM jsonb_each(CASE WHEN shape = 'object' THEN p_headers ELSE '{}' END) AS o,
      LATERAL jsonb_array_elements(CASE jsonb_typeof(o.value) WHEN 'array' THEN o.value
        ELSE jsonb_build_array(o.value) END) WITH ORDINALITY AS i(value, place)
    UNION ALL
    SELECT CASE jsonb_typeof(i.value) WHEN 'array' THEN i.value ->> 0 END,
      CASE jsonb_typeof(i.value) WHEN 'array' THEN i.value ->> 1 END,
      CASE jsonb_typeof(i.value) WHEN 'array' THEN jsonb_typeof(i.value -> 1) END, i.place
    FROM jsonb_array_elements(CASE WHEN shape = 'array' THEN p_headers ELSE '[]' END) WITH ORDINALITY AS i(value, place)
    ORDER BY place
  LOOP
    IF pair.name IS NULL OR pair.name !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$' OR pair.kind IS NULL
       OR pair.kind NOT IN ('string', 'number') OR pair.value ~ '[\x01-\x08\x0a-\x1f\x7f]' THEN
      RAISE EXCEPTION 'onceward: not a header: %', left(coalesce(pair.name, 'null'), 100) USING ERRCODE = 'OW004';
    END IF;
    CONTINUE WHEN lower(pair.name) LIKE 'onceward-%' OR lower(pair.name) IN ('connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization',
      'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'content-length', 'date', 'set-cookie');
    lines := lines || pair.name || ': ' || btrim(pair.value, E' \t') || E'\r\n';
  END LOOP;
  RETURN convert_to(lines, 'UTF8');
END $$;

-- What an answer says it came to, as the proxy reads it (core/operation_result.hpp): `Onceward-Resource: type/id`,
-- else, of a success, the last two segments of a Location's path; of a failure `Onceward-Failure: code`.
CREATE FUNCTION onceward.result_in(p_status integer, p_headers jsonb,
  OUT resource_type text, OUT resource_id text, OUT failure_code text) LANGUAGE plpgsql AS $$
DECLARE
  said record;
  found text[];
BEGIN
  FOR said IN
    SELECT lower(h.name) AS name, h.value FROM (
      SELECT o.key AS name, CASE jsonb_typeof(o.value) WHEN 'array' THEN o.value ->> 0 ELSE o.value #>> '{}' END AS value
      FROM jsonb_each(CASE jsonb_typeof(p_headers) WHEN 'object' THEN p_headers ELSE '{}' END) AS o
      UNION ALL
      SELECT i.value ->> 0, i.value ->> 1
      FROM jsonb_array_elements(CASE jsonb_typeof(p_headers) WHEN 'array' THEN p_headers ELSE '[]' END) AS i) AS h
    WHERE lower(h.name) IN ('location', 'onceward-resource', 'onceward-failure')
    ORDER BY lower(h.name)  -- Location comes first, so that the word that is meant for us goes before it
  LOOP
    IF said.name = 'onceward-failure' THEN
      IF p_status >= 400 AND length(said.value) BETWEEN 1 AND 255 THEN failure_code := said.value; END IF;
      CONTINUE;
    END IF;
    CONTINUE WHEN said.name = 'location' AND p_status >= 300;
    found := CASE said.name
      WHEN 'location' THEN regexp_match(
        regexp_replace(regexp_replace(said.value, '[?#].*$', ''), '^([A-Za-z][A-Za-z0-9+.-]*:)?//[^/]*', ''),
        '(?:^|/)([!-.0-~]+)/([!-.0-~]+)/?$')
      ELSE regexp_match(said.value, '^([!-.0-~]+)/([!-~]+)$') END;
    IF length(found[1]) <= 128 AND length(found[2]) <= 512 THEN
      resource_type := found[1];
      resource_id := found[2];
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION onceward.begin(token text,
  OUT decision text, OUT operation_id uuid, OUT epoch bigint, OUT status integer, OUT body bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r onceward.records;
BEGIN
  -- Before the record is read: whoever waits here sees what the one before it committed.
  PERFORM pg_advisory_xact_lock(hashtextextended('onceward:' || split_part(token, '.', 1), 0));
  r := onceward.record_of(token);
  operation_id := r.operation_id;
  epoch := r.epoch;
  IF r.state IN ('claimed', 'processing', 'unknown') THEN
    decision := 'proceed';
  ELSIF r.state IN ('succeeded', 'failed') THEN
    decision := 'finished';
    status := r.response_status;
    body := r.response_body;
  ELSE
    RAISE EXCEPTION 'onceward: the claim of this token has ended (%)', r.state USING ERRCODE = 'OW002';
  END IF;
END $$;

CREATE FUNCTION onceward.emit(token text, type text, payload bytea, content_type text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r onceward.records := onceward.record_of(token);
  event_id text := r.operation_id || ':' || type;
BEGIN
  IF payload IS NULL OR type IS NULL OR type !~ '^[A-Za-z0-9._:/-]{1,200}$' THEN
    RAISE EXCEPTION 'onceward: an event has a payload and a type of letters, digits and ._:/-' USING ERRCODE = 'OW004';
  END IF;
  IF content_type IS NULL OR content_type !~ '^[A-Za-z0-9!#$&^_.+/;= "-]{1,200}$' THEN
    RAISE EXCEPTION 'onceward: not a content type' USING ERRCODE = 'OW004';
  END IF;
  -- From here on nobody else can end or take over the record before this transaction has ended.
  PERFORM 1 FROM onceward.records t WHERE t.scope = r.scope FOR NO KEY UPDATE;
  r := onceward.record_of(token);
  IF r.state NOT IN ('claimed', 'processing', 'unknown') THEN
    RAISE EXCEPTION 'onceward: the operation has its outcome: events are emitted before it is finished'
      USING ERRCODE = 'OW003';
  END IF;
  -- One event of a type: its id is what consumers know it by.
  IF EXISTS (SELECT 1 FROM onceward.outbox o WHERE o.id = event_id AND o.payload <> emit.payload) THEN
    RAISE EXCEPTION 'onceward: the operation has already emitted another %', type USING ERRCODE = 'OW004';
  END IF;
  PERFORM onceward.put_events(r.scope, ARRAY[event_id], ARRAY[type], ARRAY[content_type], ARRAY[payload],
    onceward.clock(NULL));
END $$;

CREATE FUNCTION onceward.emit(token text, type text, payload jsonb)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT onceward.emit(token, type, convert_to(payload::text, 'UTF8'), 'application/json')
$$;

CREATE FUNCTION onceward.finish(token text, status integer, headers jsonb, body bytea, ttl interval DEFAULT NULL,
  resource_type text DEFAULT NULL, resource_id text DEFAULT NULL, failure_code text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r onceward.records := onceward.record_of(token);
  verdict text;
BEGIN
  IF status IS NULL OR status < 200 OR status > 599 THEN
    RAISE EXCEPTION 'onceward: % is not the status of an answer', status USING ERRCODE = 'OW004';
  END IF;
  IF status IN (204, 205, 304) AND octet_length(body) > 0 THEN
    RAISE EXCEPTION 'onceward: an answer with status % has no body', status USING ERRCODE = 'OW004';
  END IF;
  IF octet_length(resource_type) > 128 OR octet_length(resource_id) > 512 OR octet_length(failure_code) > 255
     OR concat(resource_type, resource_id, failure_code) ~ '[\x01-\x1f\x7f]' THEN
    RAISE EXCEPTION 'onceward: a resource type has at most 128 bytes, its id 512, a failure code 255, and none a '
      'control character' USING ERRCODE = 'OW004';
  END IF;
  IF ttl <= interval '0' THEN
    RAISE EXCEPTION 'onceward: a ttl is longer than nothing' USING ERRCODE = 'OW004';
  END IF;
  SELECT coalesce(finish.resource_type, s.resource_type), coalesce(finish.resource_id, s.resource_id),
    coalesce(finish.failure_code, s.failure_code)
  INTO resource_type, resource_id, failure_code FROM onceward.result_in(status, headers) AS s;
  IF coalesce(resource_type, resource_id, failure_code) IS NOT NULL THEN  -- what is known of it is three texts
    resource_type := coalesce(resource_type, '');
    resource_id := coalesce(resource_id, '');
    failure_code := coalesce(failure_code, '');
  END IF;
  SELECT f.verdict INTO verdict FROM onceward.complete(r.scope, r.operation_id, r.epoch, r.owner,
    CASE WHEN status < 400 THEN 'succeeded' ELSE 'failed' END, (extract(epoch FROM ttl) * 1000)::bigint, status,
    onceward.header_lines(headers), coalesce(body, ''::bytea), false,
    onceward.as_name(resource_type), onceward.as_name(resource_id), onceward.as_name(failure_code),
    NULL, NULL, NULL, NULL, NULL) AS f;
  IF verdict = 'conflict' THEN
    RAISE EXCEPTION 'onceward: the operation already has another outcome' USING ERRCODE = 'OW003';
  ELSIF verdict NOT IN ('changed', 'unchanged') THEN
    RAISE EXCEPTION 'onceward: the claim of this token is no longer the current one' USING ERRCODE = 'OW002';
  END IF;
END $$;

CREATE FUNCTION onceward.finish(token text, status integer, headers jsonb, body text, ttl interval DEFAULT NULL,
  resource_type text DEFAULT NULL, resource_id text DEFAULT NULL, failure_code text DEFAULT NULL)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT onceward.finish(token, status, headers, convert_to(body, 'UTF8'), ttl, resource_type, resource_id, failure_code)
$$;

COMMENT ON FUNCTION onceward.begin IS
  'Whether the operation of this Onceward-Token is to be run (proceed) or has its outcome (finished)';

REVOKE ALL ON FUNCTION onceward.record_of(text), onceward.begin(text),
  onceward.emit(text, text, bytea, text), onceward.emit(text, text, jsonb),
  onceward.finish(text, integer, jsonb, bytea, interval, text, text, text),
  onceward.finish(text, integer, jsonb, text, interval, text, text, text) FROM PUBLIC;

-- The right to do all of the above, and no more, for a role of the database.
CREATE FUNCTION onceward.allow_service(role_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  f regprocedure;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA onceward TO %I', role_name);
  FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
    WHERE p.pronamespace = 'onceward'::regnamespace AND p.proname IN ('begin', 'emit', 'finish')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', f, role_name);
  END LOOP;
END $$;
)sql";

}  // namespace onceward::postgres
