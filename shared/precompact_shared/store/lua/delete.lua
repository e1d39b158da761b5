-- delete: removes every key of the session and leaves a tombstone (rule 19); also of an invisible copy. What its live job
-- used stays there until it is counted for the tenant.
-- Returns deleted | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
if not load_hash() then return absent() end
local job = live_job()
local settles = job and lay_aside(job)
redis.call('DEL', K.h, K.m, K.b, K.k, K.c, K.x, K.j, K.i, K.il, K.d, K.a)
redis.call('ZREM', K.un, NAME)
redis.call('SREM', K.ix, NAME)
redis.call('HSET', K.t, 'v', int(num('v')), 'rw', int(num('rw')), 'inc', int(num('inc')), 'at', int(NOW))
if settles then
  local kept = {jid=job.jid, version=job.version, kind=job.kind, state='cancelled', calls=job.calls}
  redis.call('HSET', K.t, 'job', cjson.encode(kept))
end
emit({t='deleted'})
return cjson.encode({o='deleted', version=num('v'), length=num('len')})
