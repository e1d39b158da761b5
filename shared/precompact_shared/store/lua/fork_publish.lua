-- fork_publish: makes the copy visible with its chain of checkpoints; no jobs, no candidates, version 0 (rule 23).
--   ARGV 4 length (what was copied)   5 n   6.. n x (checkpoint tag JSON, candidate tag JSON, frozen context, candidate body)
-- Returns published | exists | gap | not_found.
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
local length, count = tonumber(ARGV[4]), tonumber(ARGV[5])
if not load_hash() then return absent() end
if S.vis ~= '0' then return reply('exists') end
if length ~= num('len') then return refuse('gap') end
for n = 0, count - 1 do
  local at = 6 + 4 * n
  local record, tag = cjson.decode(ARGV[at]), cjson.decode(ARGV[at + 1])
  record.adopted_version = 0
  -- Edits behind the fork's end were of entries that the copy does not have.
  if record.through and record.through > length then limit_record(record, length) end
  tag.version, tag.state, tag.base = 0, 'adopted', nil
  redis.call('RPUSH', K.k, record.cid)
  redis.call('HSET', K.c, 'cp:' .. record.cid, cjson.encode(record), record.cid, cjson.encode(tag))
  redis.call('HSET', K.x, 'cp:' .. record.cid, ARGV[at + 2], record.cid, ARGV[at + 3])
  set('gen', math.max(num('gen'), record.n))
end
set('vis', '1')
set_current(top())
flush()
emit_size()
return reply('published')
