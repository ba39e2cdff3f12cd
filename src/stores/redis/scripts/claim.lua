-- Inserts, or takes over what may run again, or returns the record that stands.
local operation_id, owner, start, fingerprint_version, fingerprint = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local lease, max_hold, ttl, receipt_ttl = ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local take_unknown, touch = ARGV[12] == 'yes', ARGV[13] == 'yes'

local MARKS = 21

local function grant(r)
  local met, refused = meet_marks(MARKS, r and r.operation_id or operation_id)
  if refused then return add_standing({'marked'}, met) end -- I7: nothing was written
  if not r then
    -- What is left of a record that is gone must not shine through the new one.
    if stored then redis.call('DEL', key) end
    stored = nil
    r = {v = '1', scope = ARGV[2], operation_id = operation_id, epoch = 0, created_at = now}
  end
  local earlier_too = r.state == 'unknown' or r.earlier_too
  clear_evidence(r)
  clear_response(r)
  clear_result(r)
  if earlier_too then r.earlier_too = 'yes' end
  r.epoch, r.owner, r.state = r.epoch + 1, owner, start
  r.fingerprint_version, r.fingerprint = tonumber(fingerprint_version), fingerprint
  if r.fingerprint_version == 0 then r.fingerprint = nil end
  r.claimed_at, r.updated_at, r.hold_until = now, now, now + max_hold
  r.lease_until = math.min(now + lease, r.hold_until)
  r.expires_at, r.ttl, r.receipt_ttl = 0, tonumber(ttl), tonumber(receipt_ttl)
  r.tenant, r.operation, r.key_hint, r.owner_tag, r.leaves = ARGV[14], ARGV[15], ARGV[16], ARGV[17], ARGV[18]
  r.probe_target = ARGV[19] ~= '' and ARGV[19] or nil
  r.reference = ARGV[20] ~= '' and ARGV[20] or nil
  take_marks(r, MARKS)
  save(r)
  return add_standing(reply('granted', r), met)
end

local function may_run_again(r)
  if r.state == 'released' then return true end
  if r.state == 'claimed' then return now >= r.lease_until and (not r.earlier_too or take_unknown) end
  return r.state == 'unknown' and take_unknown -- I4
end

local function same_request(r)
  return r.fingerprint_version == 0
    or (r.fingerprint_version == tonumber(fingerprint_version) and r.fingerprint == fingerprint)
end

if not record then return grant(nil) end
if record.owner == owner then -- I10: the reply of this very claim was lost, and it is asked again
  if not is_held(record.state) then return reply('refused', record) end
  -- WAIT counts from the last write of its connection, so there must be one.
  if touch then redis.call('HSET', key, 'v', '1') end
  return reply('granted', record)
end
if may_run_again(record) and same_request(record) then return grant(record) end
return reply('refused', record) -- I7
