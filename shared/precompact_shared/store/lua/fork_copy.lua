-- fork_copy: writes entries [at, at + n) of an invisible copy; those it has already and that are equal are skipped.
-- `diverged`: another copier wrote something else (its source was rewritten meanwhile): begin anew with fork_open.
--   ARGV 4 at   5 limits JSON   6 n   7.. entries
-- Returns ok {appended} | gap | diverged {common} | published | session_full | not_found.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include entries.lua
local FIRST = 7
local at, limits, count = tonumber(ARGV[4]), cjson.decode(ARGV[5]), tonumber(ARGV[6])
if not load_hash() then return absent() end
if S.vis ~= '0' then return cjson.encode({o='published'}) end
if at > num('len') then return refuse('gap') end
local skip, differs = common_from(at, FIRST, count)
if differs then return refuse('diverged', {common=at + skip}) end
if too_large(limits, FIRST, skip, count) then return refuse('session_full') end
local appended = append_entries(FIRST, skip, count)
if appended > 0 then estimate().keep_span() end
flush()
return cjson.encode({o='ok', appended=appended, length=num('len')})
