-- I3: every verb but claim and resolve begins here. ARGV[3..5]: operation id, epoch, owner.
if not record then return {'not_found'} end
if record.operation_id ~= ARGV[3] or record.epoch ~= tonumber(ARGV[4]) or record.owner ~= ARGV[5] then
  return {'stale'}
end

local function changed(r)
  r.updated_at = now
  save(r)
  return reply('ok', r, true)
end
