-- KEYS[1]: the record of its holder, which may be gone. ARGV[3]: only ask. ARGV[4]: touch. ARGV[5..8]: kind, mark,
-- operation id and end of an entry of another store. Taken as src/core/adoption.cpp has it.
local kind, mark, id, ends = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8])
local entry = load_mark(mark)

local function is_taken()
  if now >= ends then return false end
  if not entry then return true end
  if entry.ends and is_held_by(entry, ARGV[2], id) then return entry.ends < ends end
  return not stands(entry)
end

if not is_taken() then
  if entry and ARGV[4] == 'yes' then redis.call('HSET', mark_key(mark), 'kind', entry.kind) end -- for WAIT
  return {'kept'}
end
if ARGV[3] == 'yes' then return {'adopted'} end
write_mark({scope = ARGV[2], operation_id = id, [kind .. '_mark'] = mark}, kind, ends)
return {'adopted'}
