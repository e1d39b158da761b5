-- A content rewrite at position p (rules 1, 4, 6): called before the entries change.
local function archive(from)
  for seq = from, num('len') - 1 do
    local body, m = redis.call('HGET', K.b, int(seq)), meta(seq)
    redis.call('RPUSH', K.a, cmsgpack.pack({num('v'), seq, m[1], m[3], body, NOW}))
  end
end
local function drop_entries(from)
  local seqs, freed = {}, 0
  for seq = from, num('len') - 1 do
    freed = freed + redis.call('HSTRLEN', K.b, int(seq))
    seqs[#seqs + 1] = int(seq)
  end
  for n = 1, #seqs, 200 do
    redis.call('HDEL', K.m, unpack(seqs, n, math.min(n + 199, #seqs)))
    redis.call('HDEL', K.b, unpack(seqs, n, math.min(n + 199, #seqs)))
  end
  set('bytes', num('bytes') - freed)
end
-- Cuts the history to [0, p).
local function cut_history(p)
  local P, head, cum, sums = pairing(), chain_at(p), cum_at(p), estimate().sums_at(p)
  cut_pairing(P, p)
  archive(p)
  drop_entries(p)
  keep_pairing(P)
  set('len', p); set('head', head); set('cum', cum); set('heads', math.min(num('heads'), p))
  learning().refold(p, sums)
end
local function limit_edits(p)
  for _, cid in ipairs(redis.call('LRANGE', K.k, 0, -1)) do
    local record = checkpoint(cid)
    if record.through and record.through > p then
      limit_record(record, p)
      redis.call('HSET', K.c, 'cp:' .. cid, cjson.encode(record))
    end
  end
end
-- Version, checkpoints, candidates and job for a rewrite at p; returns the number of popped checkpoints
-- (`popped`: those that went already).
local function rewrite(p, popped)
  popped = popped or 0
  local record = top()
  while record and record.upto > p do
    pop_top('version_changed')
    popped, record = popped + 1, top()
  end
  limit_edits(p)
  bump(function(tag) return reach(tag) <= p end)
  set('rw', num('v'))
  if popped > 0 then
    set_current(top())
  else
    set('thr', math.min(num('thr'), p))
    record = top()
    set('instok', record and record.insert_tokens or 0)
    if estimate().e[E_LENGTH] > p then learning().drop_anchor() end
  end
  return popped
end
-- The last rewrite's request and answer are remembered (rule 12).
local function remembered(req)
  if S.rwh ~= req then return nil end
  local answer = cjson.decode(S.rwa)
  answer.replayed, answer.view = true, view()
  return cjson.encode(answer)
end
-- What would change nothing is no rewrite: the last real one stays the one that is remembered.
local function unchanged(at)
  return reply('ok', {at=at, version=num('v'), length=num('len'), head=S.head, rewritten_at=num('rw')})
end
local function remember(req, answer)
  answer.version, answer.length, answer.head, answer.rewritten_at = num('v'), num('len'), S.head, num('rw')
  set('rwh', req)
  set('rwa', cjson.encode(answer))
  flush()
  answer.view = view()
  return cjson.encode(answer)
end
