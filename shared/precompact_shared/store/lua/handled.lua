-- handled: clears the unhandled mark if (version, length) is still the session's; keeps the decision.
--   ARGV 4 version   5 length   6 decision JSON or ''
-- Returns ok | moved | not_found | gone.
--- @include session.lua
local version, length = seen_pair()
if not exists() then
  redis.call('ZREM', K.un, NAME)
  return absent()
end
if ARGV[6] ~= '' then
  redis.call('LPUSH', K.d, ARGV[6])
  redis.call('LTRIM', K.d, 0, DECISIONS_KEPT - 1)
end
if version ~= num('v') or length ~= num('len') then return cjson.encode({o='moved'}) end
redis.call('ZREM', K.un, NAME)
return cjson.encode({o='ok'})
