-- ARGV[2..5]: partition, the sequence to begin with, at most so many, only those that were set aside.
local set = set_of(tonumber(ARGV[2]), ARGV[5] == 'yes' and 'aside' or 'all')
local from = '[' .. name_of(tonumber(ARGV[3]), '')
return whole(redis.call('ZRANGEBYLEX', set, from, '+', 'LIMIT', 0, ARGV[4]))
