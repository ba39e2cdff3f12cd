-- ARGV[3..5]: operation id, epoch, the state to become. ARGV[6..10]: the response.
-- ARGV[11..14]: the result. From ARGV[15] on: the events.
if not record or record.operation_id ~= ARGV[3] then return {'not_found'} end
if record.epoch ~= tonumber(ARGV[4]) then return {'stale'} end
if is_final(record.state) then return {'conflict', 'the record is final'} end
if record.state == 'released' then return {'conflict', 'the record is released'} end
record.state = ARGV[5]
record.owner = string.rep('0', 32) -- whoever held it can no longer complete, release or renew (I3)
clear_evidence(record)
take_response(record, 6) -- neither has any when it is released
take_result(record, 11)
record.expires_at = now + record.ttl
record.updated_at = now
local entries = load_marks(record)
put_events(record.scope, 15)
end_marks(record, entries)
save(record) -- last, as in complete
wake()
return reply('ok', record, true)
