-- rewind: removes [to, length) into the archive.
--   ARGV 4 seen version   5 seen length   6 req   7 to
-- Returns ok {popped, rewound} | not_found | gone | regressed | rewritten | gap | unseen_end.
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
local version, length = seen_pair()
local req, to = ARGV[6], tonumber(ARGV[7])
if not exists() then return absent() end
local again = remembered(req)
if again then return again end
local problem = guard(version)
if problem then return refuse(problem) end
if to > num('len') then return refuse('gap') end
if length ~= num('len') then return refuse('unseen_end') end
if to == num('len') then return unchanged(to) end
local popped = rewrite(to)
cut_history(to)
flush()
emit_size(true)
return remember(req, {o='ok', at=to, rewound=true, popped=popped})
