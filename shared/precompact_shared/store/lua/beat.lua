-- beat: renews a lease; the first one announces where the job cuts (rules 5, 6).
--   ARGV 4 jid   5 fence   6 lease in ms   7 announcement JSON {upto, prefix, through?} or ''   8 calls JSON
-- Returns ok {deadline_ms} | lost {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include entries.lua
--- @include jobs.lua
local fence, lease = tonumber(ARGV[5]), tonumber(ARGV[6])
if not exists() then return absent() end
local job, calls = load_job(ARGV[4]), cjson.decode(ARGV[8])
if job then spend(job, calls) end
local reason = lost(job, fence)
if reason then
  if job and #calls > 0 then save_job(job) end
  return cjson.encode({o='lost', reason=reason})
end
if ARGV[7] ~= '' then
  local a = cjson.decode(ARGV[7])
  if a.upto > reach(a) or chain_at(reach(a)) ~= a.prefix then return cjson.encode({o='lost', reason='version_changed'}) end
  job.upto, job.through, job.prefix = a.upto, a.through, a.prefix
  job.basis = a.basis
end
job.lease_until_ms = NOW + lease
save_job(job)
look_at(job, job.lease_until_ms)
return cjson.encode({o='ok', deadline_ms=job.deadline_ms})
