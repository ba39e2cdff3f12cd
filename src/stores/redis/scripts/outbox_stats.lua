-- The oldest of a partition is the first that was not set aside and tells its age.
local function oldest_in(partition)
  local from = 0
  while true do
    local names = redis.call('ZRANGE', set_of(partition, 'all'), from, from + 99)
    for _, name in ipairs(names) do
      if not redis.call('ZSCORE', set_of(partition, 'aside'), name) then
        local created_at = time_in(id_in(name), 'created_at')
        if created_at then return created_at end
      end
    end
    if #names < 100 then return nil end
    from = from + 100
  end
end

local pending, aside, oldest = 0, 0, nil
for partition = 0, 15 do
  pending = pending + redis.call('ZCARD', set_of(partition, 'ready'))
  aside = aside + redis.call('ZCARD', set_of(partition, 'aside'))
  local found = oldest_in(partition)
  if found and (not oldest or found < oldest) then oldest = found end
end
return {'stats', text_of(pending), text_of(aside), text_of(oldest or 0)}
