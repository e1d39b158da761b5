-- cancel: closes a live job.
--   ARGV 4 jid   5 reason
-- Returns cancelled | skip {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
if not exists() then return absent() end
local job = load_job(ARGV[4])
if not job or not LIVE[job.state] then return cjson.encode({o='skip', reason=job and job.state or 'unknown'}) end
end_job(job, 'cancelled', ARGV[5])
flush()
return reply('cancelled')
