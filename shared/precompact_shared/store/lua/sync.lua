-- sync: the whole list of a caller that keeps all it ever had (view: history).
--   ARGV 4 seen version   5 seen length   6 req (hash of the request)   7 heal   8 changes JSON   9 limits JSON   10 start   11 n   12.. entries
-- Returns ok {appended, at, rewound, popped} | not_found | gone | regressed | rewritten | unseen_end | session_full.
-- heal: only when the caller's version is above ours (we lost our last second): the new version is above both.
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
--- @include guards.lua
--- @include rewrite.lua
--- @include appending.lua
local FIRST = 12
local version, length = seen_pair()
local req, heal = ARGV[6], ARGV[7] == '1'
local changes, limits, count = cjson.decode(ARGV[8]), cjson.decode(ARGV[9]), tonumber(ARGV[11])
if not exists() then return absent() end
local again = remembered(req)
if again then return again end
local problem = guard(version)
if heal and problem ~= 'regressed' then return refuse(problem or 'not_ahead') end
if problem and not heal then return refuse(problem) end
local common = common_from(0, FIRST, count)
local removes = common < num('len')
if removes and not heal and length ~= num('len') then return refuse('unseen_end', {common=common}) end
local freed = 0
for seq = common, num('len') - 1 do freed = freed + redis.call('HSTRLEN', K.b, int(seq)) end
limits = {entries=limits.entries + num('len') - common, bytes=limits.bytes + freed}
if too_large(limits, FIRST, common, count) then return refuse('session_full') end
if not removes and not heal then
  local appended = settle(FIRST, common, count, changes, ARGV[10])
  return reply('ok', {appended=appended, at=count, common=common, version=num('v'), length=num('len')})
end
if heal then set('v', version) end
local popped = 0
if heal then
  -- Nothing the caller measured before the loss may count, and the new version stands above both.
  for _, tag in ipairs(open_tags()) do tag.version = version; save_tag(tag) end
  local job = live_job()
  if job then job.version = version; save_job(job) end
end
if removes then
  popped = rewrite(common)
  cut_history(common)
else
  bump(function(tag) return reach(tag) <= common end)
end
-- What was lost may have been a rewrite: nobody else's older pair counts any more.
if heal then set('rw', num('v')); set('cpat', num('v')); learning().drop_anchor() end
local appended = append_entries(FIRST, common, count)
apply_changes(changes, ARGV[10])
flush()
emit_size(removes)
return remember(req, {o='ok', appended=appended, at=count, common=common, rewound=removes, popped=popped})
