-- ARGV[6]: succeeded or failed. ARGV[7]: a ttl in ms, or nothing. ARGV[8]: touch. ARGV[9..13]: the response.
-- ARGV[14..17]: the result. From ARGV[18] on: the events.
local as, ttl, touch = ARGV[6], ARGV[7], ARGV[8] == 'yes'

local function is_same_outcome()
  if record.state ~= as or not record.status or ARGV[9] ~= 'yes' then return false end
  return record.status == tonumber(ARGV[10]) and (record.body_omitted == 'yes') == (ARGV[11] == 'yes')
    and record.headers == ARGV[12] and record.body == ARGV[13]
end

if is_final(record.state) then
  if not is_same_outcome() then return {'conflict', 'the record already has another outcome'} end
  if touch then redis.call('HSET', key, 'v', '1') end -- for WAIT, as in claim
  return reply('ok', record, true)
end
if record.state == 'released' then return {'conflict', 'the claim was released'} end
if ttl ~= '' then record.ttl = tonumber(ttl) end
record.state = as
clear_evidence(record)
take_response(record, 9)
take_result(record, 14)
record.expires_at = now + record.ttl
local entries = load_marks(record)
put_events(record.scope, 18)
end_marks(record, entries)
local done = changed(record) -- last: whoever finds it final finds the rest too, and a repetition does what is missing
wake()
return done
