-- fork_open: an invisible session to copy into (rule 23); an unfinished copy begins anew.
--   ARGV 4 spec JSON   5 source   6 start (calibration.py)
-- Returns opened | exists (published already) | gone.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include entries.lua
--- @include birth.lua
local spec = cjson.decode(ARGV[4])
if load_hash() then
  if S.vis ~= '0' then
    if S.fmt ~= spec.format or S.source ~= ARGV[5] then return refuse('format_fixed') end
    return reply('exists')
  end
  redis.call('DEL', K.h, K.m, K.b, K.k, K.c, K.x, K.j, K.i, K.il, K.d, K.a)
  S, dirty = {}, {}
elseif redis.call('EXISTS', K.t) == 1 then
  return cjson.encode({o='gone'})
end
born(spec, 0, 0, ARGV[6])
set('vis', '0'); set('source', ARGV[5])
flush()
return cjson.encode({o='opened'})
