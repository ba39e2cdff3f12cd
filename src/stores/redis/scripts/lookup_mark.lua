-- KEYS[1]: a mark. Its entry, if that has an end to come.
local found = redis.pcall('HMGET', KEYS[1], 'kind', 'scope', 'operation_id', 'until')
if found.err then return {'unreadable'} end
if not (found[1] and found[2] and found[3]) then
  return {redis.call('EXISTS', KEYS[1]) == 1 and 'unreadable' or 'none'}
end
if not found[4] or now >= tonumber(found[4]) then return {'none'} end
return {'mark', found[1], found[2], found[3], found[4]}
