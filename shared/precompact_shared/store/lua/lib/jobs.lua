-- The ledger: states of rule 16. A job ends once, with a reason.
local LIVE = {ready=true, queued=true, running=true}
local BACKGROUND = {speculative=true, refresh=true, idle=true}
local function member(jid) return NAME .. '\n' .. jid end
local function load_job(jid)
  local raw = redis.call('HGET', K.j, jid)
  return raw and cjson.decode(raw) or nil
end
local function save_job(job)
  if job.calls and #job.calls == 0 then job.calls = nil end
  redis.call('HSET', K.j, job.jid, cjson.encode(job))
end
local function look_at(job, at) redis.call('ZADD', K.oj, int(at), member(job.jid)) end
local function trim(name, key, id)
  local kept = {}
  for old in string.gmatch(S[name] or '', '[^,]+') do kept[#kept + 1] = old end
  kept[#kept + 1] = id
  while #kept > ENDED_KEPT do redis.call('HDEL', key, table.remove(kept, 1)) end
  set(name, table.concat(kept, ','))
end
local function emit_job(job)
  emit({t='job', jid=job.jid, kind=job.kind, state=job.state, reason=job.reason, urgency=job.urgency})
end
-- What was used for a job outlives it: until its worker must have stopped, and told, the job stays among those to look at.
local function is_unsettled(job) return job.calls ~= nil and #job.calls > 0 end
local function lay_aside(job)
  local settles = is_unsettled(job)
  if settles then
    look_at(job, math.max(NOW, job.lease_until_ms or 0))
  else
    redis.call('ZREM', K.oj, member(job.jid))
  end
  return settles
end
local function end_job(job, state, reason)
  job.state, job.reason, job.ended_ms = state, reason, NOW
  if job.asks then
    redis.call('HDEL', K.x, 'req:' .. job.jid, 'res:' .. job.jid)
    job.asks = nil
  end
  save_job(job)
  lay_aside(job)
  if S.job == job.jid then set('job', '') end
  trim('ended', K.j, job.jid)
  emit_job(job)
end
-- Usage, once per call id. A call that was noted when it began is replaced by what became of it, never the other way; one
-- that went well by why its answer was not used, which is found out later.
local function replaces(call, known)
  if known.outcome == 'ok' then return call.outcome ~= 'ok' and call.outcome ~= 'begun' end
  return known.outcome == 'begun'
end
-- Each call also counts in the session's own sums (fields u_*; money in billionths of a dollar).
local SUMS = {u_in='input_tokens', u_read='cache_read_tokens', u_write='cache_write_tokens', u_out='output_tokens'}
local function tally(call, sign)
  for field, name in pairs(SUMS) do set(field, num(field) + sign * (tonumber(call[name]) or 0)) end
  set('u_calls', num('u_calls') + sign)
  if type(call.cost_usd) == 'number' then
    set('u_nano', num('u_nano') + sign * math.floor(call.cost_usd * 1e9 + 0.5))
  else
    set('u_unpriced', num('u_unpriced') + sign)
  end
end
local function spend(job, calls)
  job.calls = job.calls or {}
  local known = {}
  for at, call in ipairs(job.calls) do known[call.id] = at end
  for _, call in ipairs(calls) do
    local at = known[call.id]
    if not at then
      job.calls[#job.calls + 1] = call
      known[call.id] = #job.calls
      tally(call, 1)
    elseif replaces(call, job.calls[at]) then
      tally(job.calls[at], -1)
      job.calls[at] = call
      tally(call, 1)
    end
  end
  if #calls > 0 then flush() end
end
-- Why a worker that holds (jid, fence) must stop, or nil.
local function lost(job, fence)
  if not job then return 'unknown' end
  if job.state == 'cancelled' then return job.reason or 'cancelled' end
  if job.state ~= 'running' or job.fence ~= fence then return 'fence' end
  if job.version ~= num('v') then return 'version_changed' end
  return nil
end
local function reach(tag)
  if tag.through and tag.through > 0 then return tag.through end
  return tag.upto
end
