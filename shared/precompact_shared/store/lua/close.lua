-- close: discards an open candidate for good (rule 8).
--   ARGV 4 cid   5 reason
-- Returns closed | not_open {reason} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include jobs.lua
--- @include candidates.lua
if not exists() then return absent() end
local tag = load_tag(ARGV[4])
if not tag or tag.state ~= 'open' then
  return reply('not_open', {reason=tag and (tag.reason or tag.state) or 'unknown'})
end
close_tag(tag, ARGV[5])
flush()
return reply('closed')
