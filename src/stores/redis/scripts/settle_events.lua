-- ARGV[3..5]: the relay's operation id, epoch, owner. Then how many were delivered, and their ids; how many failed,
-- and the id, error, ms until the next attempt, and whether it is set aside, of each.
if not record or record.operation_id ~= ARGV[3] or record.epoch ~= tonumber(ARGV[4]) or record.owner ~= ARGV[5]
  or record.state ~= 'processing' then
  return {'stale'} -- I3
end
local settled, moved = 0, {}
local delivered = tonumber(ARGV[6])
for i = 7, 6 + delivered do
  local event = load_event(ARGV[i])
  if event then
    remove_event(event)
    settled = settled + 1
    if event.due_at > now then moved[event.scope] = true end
  end
end
local at = 7 + delivered
for i = at + 1, at + 4 * tonumber(ARGV[at]), 4 do
  local event = load_event(ARGV[i])
  if event and not event.set_aside then
    settled = settled + 1
    moved[event.scope] = true
    redis.call('HSET', event_key(event.id), 'attempts', text_of(event.attempts + 1), 'last_error', ARGV[i + 1],
      'due_at', text_of(now + ARGV[i + 2]))
    if ARGV[i + 3] == 'yes' then
      redis.call('HSET', event_key(event.id), 'set_aside', 'yes')
      redis.call('ZREM', set_of(event.partition, 'ready'), event.name)
      redis.call('ZREM', queue_of(event.scope), event.name)
      redis.call('ZADD', set_of(event.partition, 'aside'), 0, event.name)
    end
  end
end
for scope in pairs(moved) do line_up(scope) end
return {'settled', text_of(settled)}
