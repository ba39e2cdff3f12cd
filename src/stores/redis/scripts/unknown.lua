-- ARGV[6..8]: cause, status seen, bytes seen.
if not is_open(record.state) then return {'conflict', 'only an open record can become unknown'} end
-- A lapsed lease is already unknown; the owner knows the cause better.
if stored.state == 'unknown' then return reply('ok', record) end
local earlier_too = record.earlier_too
clear_evidence(record)
record.state = 'unknown'
if ARGV[6] ~= 'none' then record.cause = ARGV[6] end
if ARGV[7] ~= '0' then record.status_seen = tonumber(ARGV[7]) end
if ARGV[8] ~= '0' then record.bytes_seen = tonumber(ARGV[8]) end
record.earlier_too = earlier_too
local done = changed(record)
wake()
return done
