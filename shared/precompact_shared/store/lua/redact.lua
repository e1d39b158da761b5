-- redact: replaces bodies for good (rules 4, 21): digests stay, nothing is archived, and the texts of every
-- checkpoint and candidate that covered one of the entries are erased.
--   ARGV 4 seen version   5 seen length   6 req   7 n   8.. n x (seq, body, tokens, load), seqs rising
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
local req, count = ARGV[6], tonumber(ARGV[7])
if not exists() then return absent() end
local again = remembered(req)
if again then return again end
local problem = guard(version)
if problem then return refuse(problem) end
local bodies, lowest = {}, nil
for n = 0, count - 1 do
  local seq = tonumber(ARGV[8 + 4 * n])
  if seq >= num('len') then return refuse('gap') end
  bodies[seq] = {ARGV[9 + 4 * n], tonumber(ARGV[10 + 4 * n]), mass_of(cmsgpack.unpack(ARGV[11 + 4 * n]))}
  lowest = math.min(lowest or seq, seq)
end
if length ~= num('len') then return refuse('unseen_end') end
-- A checkpoint that only edits the entry goes too, with all on top of it: its text saw what must go.
local function drop_sighted(p)
  local cids, dropped = redis.call('LRANGE', K.k, 0, -1), 0
  for n, cid in ipairs(cids) do
    if math.max(reach(load_tag(cid)), sight(checkpoint(cid))) > p then dropped = #cids - n + 1; break end
  end
  for _ = 1, dropped do pop_top('version_changed') end
  return dropped
end
local popped = rewrite(lowest, drop_sighted(lowest))
local function erase_texts(p)
  local tags = redis.call('HGETALL', K.c)
  for n = 1, #tags, 2 do
    local tag = cjson.decode(tags[n + 1])
    if math.max(reach(tag), sight(tag)) > p then redis.call('HDEL', K.x, tag.cid, 'cp:' .. tag.cid) end
  end
end
-- What the archive holds of a redacted entry goes too, wherever it stood when it was removed.
local function erase_archive()
  local gone = {}
  for seq in pairs(bodies) do gone[meta(seq)[1]] = true end
  for n, raw in ipairs(redis.call('LRANGE', K.a, 0, -1)) do
    local row = cmsgpack.unpack(raw)
    if gone[row[3]] then row[5] = ''; redis.call('LSET', K.a, n - 1, cmsgpack.pack(row)) end
  end
end
erase_texts(lowest)
erase_archive()
local bytes = num('bytes')
for seq, body in pairs(bodies) do
  bytes = bytes - redis.call('HSTRLEN', K.b, int(seq)) + #body[1]
  redis.call('HSET', K.b, int(seq), body[1])
end
set('bytes', bytes)
rechain(lowest, function(at, m, tokens, mass)
  if not bodies[at] then return tokens, mass end
  if m[4] < REDACTED then m[4] = m[4] + REDACTED end
  return bodies[at][2], bodies[at][3]
end)
flush()
emit_size(true)
return remember(req, {o='ok', at=lowest, rewound=true, popped=popped})
