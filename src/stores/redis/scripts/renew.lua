-- ARGV[6]: the lease in ms.
if not is_held(record.state) then return {'conflict', 'only a held record can be renewed'} end
if now >= record.lease_until then return {'stale'} end
record.lease_until = math.max(record.lease_until, math.min(now + ARGV[6], record.hold_until))
save(record) -- a renewal is no change of state: updated_at stays
return reply('ok', record)
