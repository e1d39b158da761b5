-- revert: back one checkpoint (rule 15). Content stays, so rewritten_at does not move.
--   ARGV 4 n (must be the newest)   5 req
-- Returns reverted | not_newest {newest} | not_found | gone.
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
local n, req = tonumber(ARGV[4]), ARGV[5]
if not exists() then return absent() end
local again = remembered(req)
if again then return again end
local record = top()
if not record or record.n ~= n then return refuse('not_newest', {newest=record and record.n or 0}) end
pop_top('barred')
bump(function() return false end)
set_current(top())
flush()
note('reverted', {n=n, cid=record.cid})
emit({t='reverted', n=n, cid=record.cid})
emit_size()
return remember(req, {o='reverted', popped=1})
