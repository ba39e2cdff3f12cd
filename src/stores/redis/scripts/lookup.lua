-- ARGV[3]: the operation id, or nothing: any record of this scope. ARGV[4]: leave the response's bytes out.
if not record or (ARGV[3] ~= '' and record.operation_id ~= ARGV[3]) then return {'not_found'} end
return reply('ok', record, ARGV[4] == 'yes')
