-- ARGV[3]: touch. ARGV[4..]: the fields of a record of another store, name and value in turn. Taken unless the one
-- that stands is as late; mirrors src/core/adoption.cpp.
local PROGRESS = {claimed = 1, processing = 2, unknown = 3, released = 4, succeeded = 5, failed = 5, expired = 6}

local text = {}
for i = 4, #ARGV, 2 do text[ARGV[i]] = ARGV[i + 1] end
local copy, wrong = parse(text)
if wrong then return {'conflict', wrong} end

local function supersedes()
  if copy.operation_id ~= record.operation_id then return false end
  if copy.epoch ~= record.epoch then return copy.epoch > record.epoch end
  if copy.state ~= record.state then return PROGRESS[copy.state] > PROGRESS[record.state] end
  return is_held(copy.state) and copy.lease_until > record.lease_until
end

local function is_over()
  local gone_at = copy.expires_at
  if is_final(copy.state) then gone_at = gone_at + copy.receipt_ttl end
  return goes_by_itself(copy.state) and now >= gone_at
end

if is_over() or (record and not supersedes()) then
  if stored and ARGV[3] == 'yes' then redis.call('HSET', key, 'v', '1') end -- for WAIT, as in claim
  return {'kept'}
end
local entries = load_marks(copy)
-- What is left of the one before must not shine through.
if stored then redis.call('DEL', key) end
stored = nil
local has_no_effect = copy.state == 'failed' or copy.state == 'released'
for _, kind in ipairs({'unique', 'suspect'}) do
  local mark, entry = copy[kind .. '_mark'], entries[kind]
  local mine = entry and is_held_by(entry, copy.scope, copy.operation_id)
  if has_no_effect then
    if mine then redis.call('DEL', mark_key(mark)) end
  elseif mark and (mine or not entry) then
    local ends = kind == 'suspect' and copy.claimed_at + copy.suspect_keep
      or copy.state == 'succeeded' and copy.updated_at + copy.unique_keep or nil
    if not ends or now < ends then write_mark(copy, kind, ends) end
  end
end
save(copy)
wake()
return {'adopted'}
