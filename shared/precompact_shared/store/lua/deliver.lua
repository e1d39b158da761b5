-- deliver: the caller's reply to the request that a job has laid out; the same reply again changes nothing.
--   ARGV 4 jid   5 id of the request   6 reply bytes
-- Returns ok | skip {reason = unknown | not_live | other_request} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
if not exists() then return absent() end
local job = load_job(ARGV[4])
local function skip(reason) return cjson.encode({o='skip', reason=reason}) end
if not job then return skip('unknown') end
if not LIVE[job.state] then return skip('not_live') end
if job.asks ~= ARGV[5] then return skip('other_request') end
redis.call('HSET', K.x, 'res:' .. job.jid, ARGV[6])
return cjson.encode({o='ok'})
