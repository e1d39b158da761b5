-- queued: the message is on its way; a resend is no attempt (rule 16).
--   ARGV 4 jid
-- Returns ok | skip {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
if not exists() then return absent() end
local job = load_job(ARGV[4])
if not job or (job.state ~= 'ready' and job.state ~= 'queued') then
  return cjson.encode({o='skip', reason=job and job.state or 'unknown'})
end
job.state, job.sent_ms = 'queued', NOW
save_job(job)
return cjson.encode({o='ok'})
