-- claim: a job, if none is in the way (rules 5, 9, 16, 17).
--   ARGV 4 version ('' = whatever it is)   5 spec JSON {jid, kind, urgency?, base?, focus?, deadline_ms?, overflow_at?, extra?}
-- Returns claimed {job} | joined {jid} | in_flight {jid, kind} | have_candidate | base_gone | once | version_changed |
--         not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
--- @include candidates.lua
-- Whoever claims sends at once; the sweeper looks a little later, in case it could not.
local READY_LOOK_MS = 2000
local version, spec = tonumber(ARGV[4]), cjson.decode(ARGV[5])
if not exists() then return absent() end
if version and version ~= num('v') then return refuse('version_changed') end
spec.urgency = spec.urgency or 0
local overflow_at = spec.overflow_at and (int(spec.overflow_at.version) .. ':' .. int(spec.overflow_at.length))
if overflow_at and S.ovf == overflow_at then return reply('once') end

local live = live_job()
if live and live.kind == 'manual' and spec.kind == 'manual' then
  if (live.focus or '') == (spec.focus or '') then return reply('joined', {jid=live.jid}) end
  return reply('in_flight', {jid=live.jid, kind=live.kind})
end
-- A limit that is reached makes due what was begun in the background: now all of its chain may answer. What waits, for a
-- worker or for its time, begins at once and anew; what runs is joined as it is, and a next attempt waits for nothing.
local function hurry(job)
  job.kind = spec.kind
  if job.state == 'running' then
    job.hurried = true
    save_job(job)
  else
    job.state, job.not_before_ms = 'ready', 0
    job.deadline_ms = math.max(job.deadline_ms, NOW + (spec.deadline_ms or 120000))
    save_job(job)
    look_at(job, NOW + READY_LOOK_MS)
    emit_job(job)
  end
  note('hurried', {jid=job.jid, job_kind=job.kind})
end
if live and spec.kind ~= 'manual' then
  if spec.urgency < (live.urgency or 0) then
    live.urgency = spec.urgency
    save_job(live)
  end
  if BACKGROUND[live.kind] and (spec.kind == 'due' or spec.kind == 'overflow') then hurry(live) end
  return reply('in_flight', {jid=live.jid, kind=live.kind})
end
local function has_speculative()
  for _, tag in ipairs(open_tags()) do
    if tag.slot == 'speculative' and tag.version == num('v') then return true end
  end
  return false
end
if not spec.base and (spec.kind == 'speculative' or spec.kind == 'idle') and has_speculative() then
  return reply('have_candidate')
end
if spec.base then
  local base = load_tag(spec.base)
  if not base or base.state ~= 'open' or base.version ~= num('v') then return reply('base_gone') end
end
if live then end_job(live, 'cancelled', 'superseded') end
if overflow_at then set('ovf', overflow_at) end
local job = {jid=spec.jid, version=num('v'), kind=spec.kind, state='ready', fence=0, attempt=0, urgency=spec.urgency,
  base=spec.base, focus=spec.focus, created_ms=NOW, deadline_ms=NOW + (spec.deadline_ms or 120000), extra=spec.extra}
save_job(job)
set('job', job.jid)
flush()
look_at(job, NOW + READY_LOOK_MS)
note('claimed', {jid=job.jid, job_kind=job.kind, urgency=job.urgency})
emit_job(job)
return reply('claimed', {jid=job.jid, job=job})
