-- ARGV[3]: final records of any age too. ARGV[4], ARGV[5], ARGV[6]: only of this operation, of this tenant, and
-- last changed before this time, each after a '='; nothing: any.
if not stored then return {'keep'} end
if ARGV[4] ~= '' and '=' .. stored.operation ~= ARGV[4] then return {'keep'} end
if ARGV[5] ~= '' and '=' .. stored.tenant ~= ARGV[5] then return {'keep'} end
if ARGV[6] ~= '' and tonumber(stored.updated_at) >= tonumber(string.sub(ARGV[6], 2)) then return {'keep'} end
if not record or (ARGV[3] == 'yes' and is_final(stored.state)) then
  redis.call('DEL', key)
  return {'remove'}
end
if record.state == 'expired' and stored.state ~= 'expired' then
  save(record)
  return {'to_receipt'}
end
return {'keep'} -- I9
