-- ARGV[2]: at most so many of what was set aside; or 0: those whose ids follow.
local function retry(id)
  local event = load_event(id)
  if not event or not event.set_aside then return 0 end
  redis.call('HSET', event_key(id), 'attempts', '0', 'due_at', text_of(now))
  redis.call('HDEL', event_key(id), 'set_aside', 'last_error')
  redis.call('ZREM', set_of(event.partition, 'aside'), event.name)
  redis.call('ZADD', queue_of(event.scope), 0, event.name)
  line_up(event.scope)
  return 1
end

local most, retried = tonumber(ARGV[2]), 0
for i = 3, #ARGV do retried = retried + retry(ARGV[i]) end
for partition = 0, 15 do
  if retried >= most then break end
  for _, name in ipairs(redis.call('ZRANGE', set_of(partition, 'aside'), 0, most - retried - 1)) do
    retried = retried + retry(id_in(name))
  end
end
return {'retried', text_of(retried)}
