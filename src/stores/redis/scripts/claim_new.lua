-- A key that nobody has, without marks: nearly every claim. Decided before the rest of the script is made ready,
-- which takes the server longer than all of this. Writes what grant in claim.lua writes; the caller knows the rest.
if ARGV[6] ~= '0' and ARGV[19] == '' and ARGV[20] == '' and ARGV[21] == '' and ARGV[24] == ''
  and redis.call('EXISTS', KEYS[1]) == 0 then
  local at, hold_until = text_of(now), text_of(now + ARGV[9])
  local lease_until = tonumber(ARGV[8]) < tonumber(ARGV[9]) and text_of(now + ARGV[8]) or hold_until
  redis.call('HSET', KEYS[1], 'v', '1', 'scope', ARGV[2], 'operation_id', ARGV[3], 'epoch', '1', 'owner', ARGV[4],
    'state', ARGV[5], 'fingerprint_version', ARGV[6], 'fingerprint', ARGV[7], 'created_at', at, 'claimed_at', at,
    'updated_at', at, 'lease_until', lease_until, 'hold_until', hold_until, 'expires_at', '0', 'ttl', ARGV[10],
    'receipt_ttl', ARGV[11], 'tenant', ARGV[14], 'operation', ARGV[15], 'key_hint', ARGV[16], 'owner_tag', ARGV[17],
    'leaves', ARGV[18])
  return {'new', at}
end
