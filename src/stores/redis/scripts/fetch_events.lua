-- ARGV[2], ARGV[3]: partition, at most so many.
local ready = set_of(tonumber(ARGV[2]), 'ready')
return whole(redis.call('ZRANGEBYSCORE', ready, '-inf', text_of(now), 'LIMIT', 0, ARGV[3]))
