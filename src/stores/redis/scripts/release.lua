-- ARGV[6]: unbind.
if record.state == 'released' then return reply('ok', record) end
if not is_open(record.state) then return {'conflict', 'a final record cannot be released'} end
if record.earlier_too then
  -- This epoch had no effect; an earlier one may have had. The key goes back to being unknown (I4).
  if stored.state == 'unknown' then return reply('ok', record) end
  record.state = 'unknown'
  record.cause = 'declared'
else
  record.state = 'released'
  clear_evidence(record)
  record.expires_at = now + record.ttl
  if ARGV[6] == 'yes' then record.fingerprint_version, record.fingerprint = 0, nil end
end
end_marks(record, load_marks(record))
local done = changed(record) -- last, as in complete
wake()
return done
