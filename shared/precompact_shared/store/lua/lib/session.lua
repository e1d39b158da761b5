-- Session scripts: KEYS and the first three ARGV are the same in all of them (keys.py, SessionKeys.all).
--   KEYS  1 h session hash   2 m entry facts   3 b entry bodies   4 k chain   5 c candidate and checkpoint tags
--         6 x texts   7 j ledger   8 i idempotency   9 il its order   10 d decisions   11 a archive   12 t tombstone
--         13 shard's event stream   14 unhandled zset   15 open jobs zset   16 shard's index
--   ARGV  1 now in ms ('' = TIME)   2 tenant   3 session
-- Returns JSON {o = outcome, ...}.
local K = {h=KEYS[1], m=KEYS[2], b=KEYS[3], k=KEYS[4], c=KEYS[5], x=KEYS[6], j=KEYS[7], i=KEYS[8], il=KEYS[9],
           d=KEYS[10], a=KEYS[11], t=KEYS[12], ev=KEYS[13], un=KEYS[14], oj=KEYS[15], ix=KEYS[16]}
local TENANT, SID = ARGV[2], ARGV[3]
local NAME = TENANT .. '/' .. SID
local NOW = tonumber(ARGV[1])
if not NOW then
  local t = redis.call('TIME')
  NOW = t[1] * 1000 + math.floor(t[2] / 1000)
end
local ZERO_CHAIN = string.rep('0', 40)
local ENDED_KEPT, DECISIONS_KEPT, EVENTS_KEPT = 20, 100, 10000

local S = {}        -- the session hash, as strings
local dirty = {}    -- fields to write back

local function int(n) return string.format('%.0f', n) end
local function num(field) return tonumber(S[field]) or 0 end
local function set(field, value)
  if type(value) == 'number' then value = int(value) end
  if S[field] == value then return end
  S[field] = value
  dirty[field] = true
end
local function flush()
  local args = {}
  for field in pairs(dirty) do args[#args + 1] = field; args[#args + 1] = S[field] end
  if #args > 0 then redis.call('HSET', K.h, unpack(args)) end
  dirty = {}
end
local function load_hash()
  local raw = redis.call('HGETALL', K.h)
  for n = 1, #raw, 2 do S[raw[n]] = raw[n + 1] end
  return S.v ~= nil
end
-- True when the session exists and may be seen: every script asks first, so that a late write recreates nothing.
local function exists() return load_hash() and S.vis ~= '0' end
local function absent()
  if redis.call('EXISTS', K.t) == 1 then return cjson.encode({o='gone'}) end
  return cjson.encode({o='not_found'})
end
local function list(json) if json and json ~= '' then return cjson.decode(json) end return {} end
local function json_or_empty(t) if #t > 0 then return cjson.encode(t) end return '' end
local function seen_pair() return tonumber(ARGV[4]), tonumber(ARGV[5]) end
local function note(kind, facts)
  facts.kind, facts.at_ms, facts.version, facts.length = kind, NOW, num('v'), num('len')
  redis.call('LPUSH', K.d, cjson.encode(facts))
  redis.call('LTRIM', K.d, 0, DECISIONS_KEPT - 1)
end
