-- The outcome of a claim whose lease is held, without marks, events or a result: nearly every completion. Decided
-- before the rest of the script is made ready, as in claim_new.lua; writes what complete.lua writes, and replies when,
-- and the record as it was (record_fields.cpp has the same names in the same order).
if ARGV[9] == 'yes' and ARGV[11] ~= 'yes' and ARGV[14] ~= 'yes' and ARGV[18] == '0' then
  local was = redis.pcall('HMGET', KEYS[1], 'v', 'scope', 'operation_id', 'epoch', 'owner', 'state', 'ttl',
    'receipt_ttl', 'lease_until', 'fingerprint_version', 'created_at', 'claimed_at', 'updated_at', 'hold_until',
    'expires_at', 'tenant', 'operation', 'key_hint', 'owner_tag', 'leaves', 'fingerprint', 'probe_target', 'reference',
    'earlier_too', 'unique_mark', 'suspect_mark', 'cause', 'status_seen', 'bytes_seen', 'body_omitted', 'resource_type',
    'resource_id', 'failure_code')
  local is_whole = was[1] == '1' and was[2] == ARGV[2] and was[3] == ARGV[3] and was[4] == ARGV[4]
    and was[5] == ARGV[5] and was[6] == 'processing' and was[16] and was[17] and was[18] and was[19] and was[20]
  for i = 7, 15 do is_whole = is_whole and was[i] and string.find(was[i], '^%d+$') end
  for i = 24, 33 do is_whole = is_whole and not was[i] end
  local ttl = tonumber(ARGV[7] ~= '' and ARGV[7] or was[7] or nil)
  local receipt_ttl, lease_until = tonumber(was[8] or nil), tonumber(was[9] or nil)
  if is_whole and now < lease_until then
    local at = text_of(now)
    redis.call('HSET', KEYS[1], 'state', ARGV[6], 'updated_at', at, 'expires_at', text_of(now + ttl), 'ttl',
      text_of(ttl), 'status', ARGV[10], 'headers', ARGV[12], 'body', ARGV[13])
    redis.call('PEXPIREAT', KEYS[1], text_of(now + ttl + receipt_ttl + EXPIRY_SLACK_MS))
    redis.pcall('PUBLISH', KEYS[1], 'changed')
    was[1], was[2], was[24] = 'completed', at, nil -- which ends the reply
    return was
  end
end
