-- What a script of the outbox alone begins with, after clock.lua.
--   KEYS[1]  `<prefix>outbox:sequence`
local prefix = string.sub(KEYS[1], 1, -16)

-- The events of these names, each as its name and the fields and values of its hash; without these: it cannot be had.
local function whole(names)
  local out = {}
  for _, name in ipairs(names) do
    local event = redis.pcall('HGETALL', prefix .. 'event:' .. string.sub(name, 18))
    if event.err then event = {} end
    table.insert(event, 1, name)
    out[#out + 1] = event
  end
  return out
end
