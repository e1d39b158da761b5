-- due: what the sweeper does with an open job whose time has come, or with an ended one whose calls are to be counted
-- (rule 16, I6).
--   ARGV 4 jid   5 resend after ms   6 attempts allowed
-- Returns send {job} | later | dead | settle {job} | gone | not_found.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
local resend, max = tonumber(ARGV[5]), tonumber(ARGV[6])
local function drop(o)
  redis.call('ZREM', K.oj, member(ARGV[4]))
  return cjson.encode({o=o})
end
local function settle(job)
  if not job or job.jid ~= ARGV[4] or not is_unsettled(job) then return drop('gone') end
  -- Whoever has counted takes the job off the list; until then others look again.
  look_at(job, NOW + resend)
  return cjson.encode({o='settle', job=job})
end
local function buried()
  local raw = redis.call('HGET', K.t, 'job')
  return raw and cjson.decode(raw) or nil
end
if not exists() then return settle(buried()) end
local job = load_job(ARGV[4])
if not job or not LIVE[job.state] then return settle(job) end
local function send()
  -- Looked at again when the resend is due, so that several sweepers do not all send.
  look_at(job, NOW + resend)
  return cjson.encode({o='send', job=job})
end
if job.state == 'running' then
  if job.lease_until_ms > NOW then look_at(job, job.lease_until_ms); return cjson.encode({o='later'}) end
  if job.attempt >= max then
    end_job(job, 'dead', 'attempts_spent')
    flush()
    return cjson.encode({o='dead'})
  end
  job.state, job.reason, job.not_before_ms = 'ready', 'lease_lost', NOW
  job.upto, job.through, job.prefix = nil, nil, nil
  job.hurried = nil
  save_job(job)
  return send()
end
if job.state == 'ready' and (job.not_before_ms or 0) > NOW then
  look_at(job, job.not_before_ms)
  return cjson.encode({o='later'})
end
if job.state == 'queued' and (job.sent_ms or 0) + resend > NOW then
  look_at(job, job.sent_ms + resend)
  return cjson.encode({o='later'})
end
return send()
