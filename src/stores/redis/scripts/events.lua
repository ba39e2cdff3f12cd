-- The outbox: an event is a hash, and is named in sorted sets by its sequence and id, so that names sort in the
-- order of writing. Of one partition `all` has every event, `ready` those that wait, by the time from which they
-- may be sent, and `aside` those that were given up. Of one scope those that wait are kept too: none of them is
-- ready before the one before it is.
local function partition_of(scope) return tonumber(string.sub(scope, 1, 2), 16) % 16 end
local function set_of(partition, what) return prefix .. 'outbox:' .. text_of(partition) .. ':' .. what end
local function queue_of(scope) return prefix .. 'outbox:scope:' .. scope end
local function event_key(id) return prefix .. 'event:' .. id end
local function name_of(sequence, id) return string.format('%016.0f ', sequence) .. id end
local function id_in(name) return string.sub(name, 18) end

-- Nothing: it is not there, or cannot be read. Others of its script may have been written already, and none of them
-- may be kept from its end by this one.
local function load_event(id)
  local found = redis.pcall('HMGET', event_key(id), 'sequence', 'scope', 'due_at', 'attempts', 'set_aside')
  if found.err or not found[2] then return nil end
  local sequence, due_at, attempts = tonumber(found[1] or nil), tonumber(found[3] or nil), tonumber(found[4] or nil)
  if not (sequence and due_at and attempts and string.match(found[2], '^%x%x')) then return nil end
  return {id = id, name = name_of(sequence, id), scope = found[2], partition = partition_of(found[2]),
    due_at = due_at, attempts = attempts, set_aside = found[5] == 'yes'}
end

local function time_in(id, field)
  local found = redis.pcall('HGET', event_key(id), field)
  return type(found) == 'string' and tonumber(found) or nil
end

-- Makes the times from which the events of a scope may be sent what they must be, after one of them has changed.
local function line_up(scope)
  local ready = set_of(partition_of(scope), 'ready')
  local latest = 0
  for _, name in ipairs(redis.call('ZRANGE', queue_of(scope), 0, -1)) do
    latest = math.max(latest, time_in(id_in(name), 'due_at') or 0)
    redis.call('ZADD', ready, text_of(latest), name)
  end
end

local function remove_event(event)
  redis.call('DEL', event_key(event.id))
  for _, what in ipairs({'all', 'ready', 'aside'}) do
    redis.call('ZREM', set_of(event.partition, what), event.name)
  end
  redis.call('ZREM', queue_of(event.scope), event.name)
end

-- The events in the arguments from `at` on: how many, then id, type, content type and payload of each. Once each.
-- Fails before it has written anything, or not at all: an event of which a part is there would count as written.
local function put_events(scope, at)
  local count = tonumber(ARGV[at])
  if count == 0 then return end
  local partition = partition_of(scope)
  for _, what in ipairs({'all', 'ready'}) do redis.call('ZCARD', set_of(partition, what)) end
  local last = redis.call('ZREVRANGE', queue_of(scope), 0, 0)[1]
  local ready_at = math.max(now, last and tonumber(redis.call('ZSCORE', set_of(partition, 'ready'), last)) or 0)
  for i = at + 1, at + 4 * count, 4 do
    local id = ARGV[i]
    if redis.call('EXISTS', event_key(id)) == 0 then
      local sequence = redis.call('INCR', prefix .. 'outbox:sequence')
      local name = name_of(sequence, id)
      redis.call('ZADD', set_of(partition, 'all'), 0, name)
      redis.call('ZADD', set_of(partition, 'ready'), text_of(ready_at), name)
      redis.call('ZADD', queue_of(scope), 0, name)
      redis.call('HSET', event_key(id), 'sequence', text_of(sequence), 'scope', scope, 'type', ARGV[i + 1],
        'content_type', ARGV[i + 2], 'payload', ARGV[i + 3], 'created_at', text_of(now), 'due_at', text_of(now),
        'attempts', '0')
    end
  end
end
