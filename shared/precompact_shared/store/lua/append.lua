-- append: adds what is new (rules 1, 2, 19): one call makes the append, the sizes, the event and the unhandled mark.
--   ARGV 4 seen version ('' without)   5 seen length   6 pos (-1: the end)   7 create spec JSON or ''   8 idempotency key or ''
--        9 changes JSON   10 limits JSON   11 start (calibration of a new session or model, or '')   12 n
--        13.. n x (digest, tokens, role, pinned, links, load, body)
-- Returns ok {appended, at} | not_found | gone | format_fixed | key_required | regressed | rewritten | gap |
--         diverged {common} | session_full. Nothing is stored with a refusal.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include entries.lua
--- @include learning.lua
--- @include changes.lua
--- @include guards.lua
--- @include birth.lua
--- @include appending.lua
local FIRST, IDEM_KEPT = 13, 256
local version, length = seen_pair()
local pos, spec, key = tonumber(ARGV[6]), ARGV[7], ARGV[8]
local changes, limits, count = cjson.decode(ARGV[9]), cjson.decode(ARGV[10]), tonumber(ARGV[12])

local function make()
  if redis.call('EXISTS', K.t) == 1 then return cjson.encode({o='gone'}) end
  if spec == '' then return cjson.encode({o='not_found'}) end
  if version and version > 0 then return cjson.encode({o='regressed', version=0, length=0}) end
  if (length or 0) > 0 or pos > 0 then return cjson.encode({o='gap', version=0, length=0}) end
  if too_large(limits, FIRST, 0, count) then return cjson.encode({o='session_full', version=0, length=0}) end
  born(cjson.decode(spec), 0, 0, ARGV[11])
  version, length = 0, 0
  return nil
end
local function replayed()
  local known = redis.call('HGET', K.i, key)
  if not known then return nil end
  local answer = cjson.decode(known)
  answer.replayed = true
  return reply('ok', answer)
end
local function remember_key(answer)
  redis.call('HSET', K.i, key, cjson.encode(answer))
  redis.call('RPUSH', K.il, key)
  while redis.call('LLEN', K.il) > IDEM_KEPT do redis.call('HDEL', K.i, redis.call('LPOP', K.il)) end
end

if not load_hash() then
  local problem = make()
  if problem then return problem end
elseif S.vis == '0' then
  return cjson.encode({o='not_found'})
elseif spec ~= '' and cjson.decode(spec).format ~= S.fmt then
  return refuse('format_fixed')
end
if not version then
  if key == '' then return refuse('key_required') end
  local again = replayed()
  if again then return again end
  if pos < 0 then pos = num('len') end
else
  local problem = guard(version, length)
  if problem then return refuse(problem) end
  if pos < 0 then pos = length end
end
if (length or 0) > num('len') or pos > num('len') then return refuse('gap') end
local skip, differs = common_from(pos, FIRST, count)
if differs then return refuse('diverged', {common=pos + skip}) end
if too_large(limits, FIRST, skip, count) then return refuse('session_full') end
local appended = settle(FIRST, skip, count, changes, ARGV[11])
local answer = {appended=appended, at=pos + count, version=num('v'), length=num('len')}
if key ~= '' then remember_key(answer) end
return reply('ok', answer)
