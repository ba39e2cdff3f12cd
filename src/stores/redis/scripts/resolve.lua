-- ARGV[3..5]: operation id, epoch, the state to become. ARGV[6..10]: the response.
if not record or record.operation_id ~= ARGV[3] then return {'not_found'} end
if record.epoch ~= tonumber(ARGV[4]) then return {'stale'} end
if is_final(record.state) then return {'conflict', 'the record is final'} end
record.state = ARGV[5]
record.owner = string.rep('0', 32) -- whoever held it can no longer complete, release or renew (I3)
clear_evidence(record)
if ARGV[5] == 'released' then clear_response(record) else take_response(record, 6) end
record.expires_at = now + record.ttl
record.updated_at = now
save(record)
wake()
return reply('ok', record, true)
