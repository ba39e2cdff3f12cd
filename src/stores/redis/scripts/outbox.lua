-- What a script of the outbox alone begins with, after clock.lua.
--   KEYS[1]  `<prefix>outbox:sequence`
local prefix = string.sub(KEYS[1], 1, -16)

-- The events of these names, each as its id and the fields and values of its hash.
local function whole(names)
  local out = {}
  for _, name in ipairs(names) do
    local event = redis.call('HGETALL', prefix .. 'event:' .. string.sub(name, 18))
    if #event > 0 then
      table.insert(event, 1, string.sub(name, 18))
      out[#out + 1] = event
    end
  end
  return out
end
