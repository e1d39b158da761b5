-- teach: one session more in a tenant's lessons on a model (engine/estimate/teaching.py, learn): means, of which older
-- sessions fade.
--   KEYS 1 tenant's hash (field `lessons`: JSON by model)
--   ARGV 1 model   2 lesson JSON {f, leaves, root}   3 now in ms   4 models kept   5 sessions that count at most
-- Returns the number of models known; 0 when there is no such tenant.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local model, lesson, now, kept, most = ARGV[1], cjson.decode(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local known = cjson.decode(redis.call('HGET', KEYS[1], 'lessons') or '{}')
local old = known[model] or {sessions=0, factors={1, 1, 1}, leaves=0, root_reasoning=0}
local sessions = math.min(old.sessions + 1, most)
local function mean(before, new) return before + (new - before) / sessions end
for n = 1, 3 do old.factors[n] = mean(old.factors[n], lesson.f[n]) end
old.leaves, old.root_reasoning = mean(old.leaves, lesson.leaves), mean(old.root_reasoning, lesson.root)
old.sessions, old.at = sessions, now
known[model] = old
local count, oldest = 0, nil
for name, one in pairs(known) do
  count = count + 1
  if not oldest or one.at < known[oldest].at then oldest = name end
end
if count > kept then known[oldest], count = nil, count - 1 end
redis.call('HSET', KEYS[1], 'lessons', cjson.encode(known))
return count
