-- create: makes a session (rule 19).
--   ARGV 4 spec JSON {format, model?, window?, max_output?, parent?}   5 recreate (1: revive a deleted id)   6 start (calibration.py)
-- Returns created | exists | format_fixed | gone, with the view.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include birth.lua
local spec, recreate = cjson.decode(ARGV[4]), ARGV[5] == '1'
if load_hash() then
  if S.vis == '0' then return cjson.encode({o='not_found'}) end
  if S.fmt ~= spec.format then return refuse('format_fixed') end
  return reply('exists')
end
local version, incarnation = 0, 0
local tomb = redis.call('HMGET', K.t, 'v', 'rw', 'inc')
if tomb[1] then
  if not recreate then return cjson.encode({o='gone'}) end
  version = math.max(tonumber(tomb[1]), tonumber(tomb[2])) + 1
  incarnation = tonumber(tomb[3]) + 1
  redis.call('DEL', K.t)
end
born(spec, version, incarnation, ARGV[6])
flush()
emit_size()
return reply('created')
