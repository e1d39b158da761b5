-- offer: lays out the request that a running job's caller is to run itself.
--   ARGV 4 jid   5 fence   6 id of the request   7 request bytes
-- Returns ok {kind = new | known} | lost {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
local fence, id = tonumber(ARGV[5]), ARGV[6]
if not exists() then return absent() end
local job = load_job(ARGV[4])
local reason = lost(job, fence)
if reason then return cjson.encode({o='lost', reason=reason}) end
if job.asks == id then return cjson.encode({o='ok', kind='known'}) end
redis.call('HSET', K.x, 'req:' .. job.jid, ARGV[7])
redis.call('HDEL', K.x, 'res:' .. job.jid)
job.asks = id
save_job(job)
emit_job(job)
return cjson.encode({o='ok', kind='new'})
