-- handled_many: the same as `handled`, for many sessions of one shard in one call; a scheduler's batch is one of these.
--   KEYS 1 unhandled zset, then two per session: session hash, list of decisions
--   ARGV 1 decisions kept, then four per session: name, version, length, decision JSON or ''
-- Returns the number of marks cleared.
local kept = tonumber(ARGV[1])
local done = {}
for n = 1, (#KEYS - 1) / 2 do
  local hash, decisions, at = KEYS[2 * n], KEYS[2 * n + 1], 4 * n - 2
  local have = redis.call('HMGET', hash, 'v', 'len', 'vis')
  local exists = have[1] and have[3] ~= '0'
  if exists and ARGV[at + 3] ~= '' then
    if redis.call('LPUSH', decisions, ARGV[at + 3]) > kept then redis.call('LTRIM', decisions, 0, kept - 1) end
  end
  local unmoved = tonumber(have[1]) == tonumber(ARGV[at + 1]) and tonumber(have[2]) == tonumber(ARGV[at + 2])
  if not exists or unmoved then done[#done + 1] = ARGV[at] end
end
local cleared = 0
for n = 1, #done, 500 do cleared = cleared + redis.call('ZREM', KEYS[1], unpack(done, n, math.min(n + 499, #done))) end
return cleared
