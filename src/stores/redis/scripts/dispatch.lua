if record.state == 'processing' then return reply('ok', record) end
if record.state ~= 'claimed' then return {'conflict', 'only a claimed record can be dispatched'} end
if now >= record.lease_until then return {'stale'} end -- another may be claiming it
record.state = 'processing'
return changed(record)
