-- view: the session as it stands. Returns {o=ok, view} | not_found | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
if not exists() then return absent() end
return reply('ok')
