-- keep_prefix: what stands in front of the messages in the caller's requests (system, tools, parameters), by digest.
--   ARGV 4 digest   5 bytes
-- Returns ok | not_found | gone.
--- @include session.lua
if not exists() then return absent() end
if S.pfx ~= ARGV[4] then
  redis.call('HSET', K.x, 'prefix', ARGV[5])
  set('pfx', ARGV[4])
  flush()
end
return cjson.encode({o='ok'})
