-- What every script begins with: the time, once.
--   ARGV[1]  the time in ms, or 0: this server's
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A key's own expiry only clears away what is already gone by its fields, and always later.
local EXPIRY_SLACK_MS = 60000

local function text_of(value)
  if type(value) == 'number' then return string.format('%.0f', value) end
  return value
end
