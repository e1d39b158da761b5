-- finish: ends an attempt without a candidate (rule 16).
--   ARGV 4 jid   5 fence   6 action retry | dead | skip | release   7 delay in ms   8 reason   9 attempts allowed   10 calls JSON
-- Returns ok {kind = the job's new state} | lost {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
local fence, action, delay, why, max = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])
local calls = cjson.decode(ARGV[10])
if not exists() then return absent() end
local job = load_job(ARGV[4])
if job then spend(job, calls) end
local reason = lost(job, fence)
if reason then
  if job and #calls > 0 then save_job(job) end
  return cjson.encode({o='lost', reason=reason})
end
if action == 'retry' and job.attempt >= max then action = 'dead' end
if action == 'retry' or action == 'release' then
  if job.hurried then delay, job.hurried = 0, nil end
  if action == 'release' then job.attempt = job.attempt - 1 end
  job.state, job.reason, job.not_before_ms, job.lease_until_ms = 'ready', why, NOW + delay, 0
  job.upto, job.through, job.prefix = nil, nil, nil
  save_job(job)
  look_at(job, job.not_before_ms)
  if delay == 0 then emit_job(job) end
else
  end_job(job, action == 'dead' and 'dead' or 'done', why)
end
note('finished', {jid=job.jid, action=action, reason=why})
flush()
return cjson.encode({o='ok', kind=job.state})
