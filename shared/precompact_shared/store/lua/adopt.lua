-- adopt: the compare-and-set on (version, length, candidate) that writes a checkpoint (rules 6, 7, 10, 12).
--   ARGV 4 version   5 length   6 cid   7 record JSON (CheckpointTag; n and times are set here)   8 frozen context   9 forced
-- Returns adopted {record} | already {record} | length_moved | refused {reason} | deferred {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include entries.lua
--- @include learning.lua
--- @include changes.lua
--- @include jobs.lua
--- @include candidates.lua
--- @include checkpoints.lua
local version, length = seen_pair()
local cid, record, forced = ARGV[6], cjson.decode(ARGV[7]), ARGV[9] == '1'
if not exists() then return absent() end
if S.cp == cid then return reply('already', {record=checkpoint(cid)}) end
local tag = load_tag(cid)
if not tag or tag.state ~= 'open' then
  return reply('refused', {reason=tag and (tag.reason or 'superseded') or 'unknown'})
end
local function discard(reason)
  close_tag(tag, reason)
  flush()
  return reply('refused', {reason=reason})
end
if version ~= num('v') then return reply('refused', {reason='version_changed'}) end
if tag.version ~= num('v') or chain_at(reach(tag)) ~= tag.prefix then return discard('version_changed') end
if not ahead(tag) then return discard('not_ahead') end
if tag.tokens_after >= tag.tokens_before then return discard('not_smaller') end
local job = live_job()
if job and job.kind == 'manual' and tag.slot ~= 'manual' and not forced then
  return reply('deferred', {reason='manual_running'})
end
if length ~= num('len') then return reply('length_moved') end

set('gen', num('gen') + 1)
forget_open(cid)
bump(function(other) return other.base == cid end)
tag.state = 'adopted'
save_tag(tag)
record.cid, record.n, record.upto, record.kind = cid, num('gen'), tag.upto, tag.kind
-- A later checkpoint carries the edits that survive it (rule 7).
record.through = math.max(tag.through or 0, record.through or 0)
record.sighted = record.through
record.adopted_version, record.adopted_ms, record.job = num('v'), NOW, tag.job
redis.call('RPUSH', K.k, cid)
redis.call('HSET', K.c, 'cp:' .. cid, cjson.encode(record))
redis.call('HSET', K.x, 'cp:' .. cid, ARGV[8])
set_current(record)
flush()
note('adopted', {cid=cid, n=record.n, upto=record.upto, slot=tag.slot})
emit({t='adopted', cid=cid, n=record.n})
emit_size()
return reply('adopted', {record=record})
