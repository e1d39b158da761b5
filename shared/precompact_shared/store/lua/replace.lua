-- replace: puts another entry at seq; later entries stay.
--   ARGV 4 seen version   5 seen length   6 req   7 seq   8.. the entry (digest, tokens, role, pinned, links, load, body)
-- Returns ok {popped, rewound} | not_found | gone | regressed | rewritten | gap | unseen_end.
--- @include session.lua
--- @include estimate.lua
--- @include events.lua
--- @include view.lua
--- @include entries.lua
--- @include learning.lua
--- @include changes.lua
--- @include jobs.lua
--- @include candidates.lua
--- @include checkpoints.lua
--- @include guards.lua
--- @include rewrite.lua
--- @include rechain.lua
local version, length = seen_pair()
local req, seq, e = ARGV[6], tonumber(ARGV[7]), entry_at(8, 0)
if not exists() then return absent() end
local again = remembered(req)
if again then return again end
local problem = guard(version)
if problem then return refuse(problem) end
if seq >= num('len') then return refuse('gap') end
if length ~= num('len') then return refuse('unseen_end') end
if meta(seq)[1] == e.digest then return unchanged(seq) end
local popped = rewrite(seq)
local old = redis.call('HGET', K.b, int(seq))
redis.call('RPUSH', K.a, cmsgpack.pack({num('v'), seq, meta(seq)[1], meta(seq)[3], old, NOW}))
redis.call('HSET', K.b, int(seq), e.body)
set('bytes', num('bytes') - #old + #e.body)
local heads = math.min(num('heads'), seq)
rechain(seq, function(at, m, tokens, mass)
  if at == seq then
    m[1], m[4], m[5], m[6], m[8] = e.digest, e.pinned and PINNED or 0, e.role, e.links, e.load[1]
    tokens, mass = e.tokens, mass_of(e.load)
  end
  -- The head may have become longer: its system entries are always pinned.
  if at == heads and m[5] == 's' then
    heads = at + 1
    if m[4] % 2 == 0 then m[4] = m[4] + PINNED end
  end
  return tokens, mass
end)
set('heads', heads)
flush()
emit_size(true)
return remember(req, {o='ok', at=seq, rewound=true, popped=popped})
