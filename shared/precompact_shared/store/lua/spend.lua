-- spend: adds model calls to the sums of a tenant's day, each call id once.
--   KEYS 1 the day's hash   2 zset of counted ids
--   ARGV 1 now in ms   2 ids kept   3 n, then per call: id   number of pairs   (field   amount)...
-- Returns the number of calls that were new.
local now, kept, at, fresh = tonumber(ARGV[1]), tonumber(ARGV[2]), 4, 0
for _ = 1, tonumber(ARGV[3]) do
  local id, pairs_ = ARGV[at], tonumber(ARGV[at + 1])
  local is_new = redis.call('ZADD', KEYS[2], 'NX', now, id) == 1
  for pair = 1, pairs_ do
    if is_new then redis.call('HINCRBY', KEYS[1], ARGV[at + 2 * pair], ARGV[at + 2 * pair + 1]) end
  end
  if is_new then fresh = fresh + 1 end
  at = at + 2 + 2 * pairs_
end
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -kept - 1)
return fresh
