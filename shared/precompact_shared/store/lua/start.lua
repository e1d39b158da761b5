-- start: a worker takes the job; fence, attempt and lease begin here (rules 5, 16).
--   ARGV 4 jid   5 lease in ms   6 attempts allowed
-- Returns started {job, view, base} | skip {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
--- @include candidates.lua
local lease, max = tonumber(ARGV[5]), tonumber(ARGV[6])
if not exists() then return absent() end
local job = load_job(ARGV[4])
local function skip(reason) return cjson.encode({o='skip', reason=reason}) end
if not job then return skip('unknown') end
if not LIVE[job.state] then return skip(job.state) end
if job.state == 'running' and job.lease_until_ms > NOW then return skip('running') end
if job.state == 'ready' and (job.not_before_ms or 0) > NOW then return skip('not_due') end
if job.version ~= num('v') then
  end_job(job, 'cancelled', 'version_changed')
  flush()
  return skip('version_changed')
end
if job.attempt >= max then
  end_job(job, 'dead', 'attempts_spent')
  flush()
  return skip('dead')
end
local base = job.base and load_tag(job.base) or nil
job.state, job.fence, job.attempt = 'running', job.fence + 1, job.attempt + 1
job.lease_until_ms, job.started_ms = NOW + lease, NOW
job.upto, job.through, job.prefix = nil, nil, nil
job.hurried = nil
save_job(job)
look_at(job, job.lease_until_ms)
return reply('started', {job=job, base=base})
