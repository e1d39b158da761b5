-- chain: tags of the checkpoints, oldest first (read only). Returns a list of JSON texts, empty when there is no session.
--- @include session.lua
local cids = redis.call('LRANGE', K.k, 0, -1)
if #cids == 0 then return {} end
for n, cid in ipairs(cids) do cids[n] = 'cp:' .. cid end
return redis.call('HMGET', K.c, unpack(cids))
