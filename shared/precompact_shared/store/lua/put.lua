-- put: stores a candidate under the tag of the job's start (rules 5, 7, 9, 13).
--   ARGV 4 jid   5 fence   6 floor (1: beside the job, which goes on)   7 tag JSON   8 body   9 calls JSON (usage, once per call id)
-- Returns stored | refused {reason} (a full one ends the job) | lost {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include entries.lua
--- @include jobs.lua
--- @include candidates.lua
local fence, floor = tonumber(ARGV[5]), ARGV[6] == '1'
local tag, calls = cjson.decode(ARGV[7]), cjson.decode(ARGV[9])
if not exists() then return absent() end
local job = load_job(ARGV[4])
if job then spend(job, calls) end
local reason = lost(job, fence)
if not reason and not job.upto then reason = 'not_announced' end
if reason then
  if job and #calls > 0 then save_job(job) end
  return cjson.encode({o='lost', reason=reason})
end
-- Made for another cut than the one that was announced, it would stand for content it was not made from (I3).
local elsewhere = tag.upto ~= job.upto or (tag.through or 0) ~= (job.through or 0) or tag.prefix ~= job.prefix
tag.version, tag.through = num('v'), job.through or 0
tag.base, tag.job, tag.created_ms, tag.state = job.base, job.jid, NOW, 'open'
tag.slot = floor and 'floor' or (job.kind == 'manual' and 'manual' or 'speculative')

local function base_alive()
  if not job.base or S.cp == job.base then return true end
  local base = load_tag(job.base)
  return base and base.state == 'open' and base.version == num('v') and chain_at(reach(base)) == base.prefix
end
-- A refresh that covers no more than its base would only cost.
local function ahead_of_base()
  local base = job.base and S.cp ~= job.base and load_tag(job.base)
  return not base or base.state ~= 'open' or reach(tag) > reach(base)
end
local function objection()
  if elsewhere or chain_at(reach(tag)) ~= tag.prefix then return 'version_changed' end
  if not ahead(tag) then return 'not_ahead' end
  if not ahead_of_base() then return 'not_ahead' end
  if tag.tokens_after >= tag.tokens_before then return 'not_smaller' end
  if not base_alive() then return 'base_gone' end
  return nil
end
reason = objection()
if reason then
  if floor then
    save_job(job)
  else
    note('refused', {jid=job.jid, reason=reason})
    end_job(job, reason == 'version_changed' and 'cancelled' or 'done', reason)
    flush()
  end
  return cjson.encode({o='refused', reason=reason})
end
if floor then
  close_floors(job.jid, tag.cid)
  save_job(job)
else
  end_job(job, 'done', nil)
  close_floors(nil)
  for _, old in ipairs(open_tags()) do
    if old.slot == tag.slot then close_tag(old, 'superseded') end
  end
end
save_tag(tag)
redis.call('HSET', K.x, tag.cid, ARGV[8])
forget_open(tag.cid)
local open = S.cands
set('cands', open == '' and tag.cid or (open .. ',' .. tag.cid))
flush()
note('stored', {cid=tag.cid, slot=tag.slot, upto=tag.upto, tokens_before=tag.tokens_before, tokens_after=tag.tokens_after})
emit({t='candidate', cid=tag.cid, slot=tag.slot, jid=job.jid})
return reply('stored')
