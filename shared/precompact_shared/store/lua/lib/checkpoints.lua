-- The chain: list K.k of candidate ids, tag in K.c under `cp:<cid>`, frozen context in K.x under `cp:<cid>`.
local function checkpoint(cid)
  local raw = redis.call('HGET', K.c, 'cp:' .. cid)
  return raw and cjson.decode(raw) or nil
end
local function set_current(record)
  set('cp', record and record.cid or '')
  set('cpn', record and record.n or 0)
  set('upto', record and record.upto or 0)
  set('thr', record and record.through or 0)
  set('instok', record and record.insert_tokens or 0)
  set('cumup', cum_at(record and record.upto or 0))
  set('cpat', num('v'))
  learning().drop_anchor()
end
-- Edits at p and later no longer hold: what they saved is there again (rule 7).
local function limit_record(record, p)
  record.edit_limit, record.through = math.min(record.edit_limit or p, p), p
  local left = {}
  for _, saved in ipairs(record.cleared or {}) do
    if saved[1] < p then left[#left + 1] = saved else record.insert_tokens = (record.insert_tokens or 0) + saved[2] end
  end
  record.cleared = #left > 0 and left or nil
end
-- How far the texts of a checkpoint have seen: also edits that were carried on, also those that no longer hold.
local function sight(record) return math.max(record.sighted or 0, record.through or 0, record.upto) end
local function top()
  local cid = redis.call('LINDEX', K.k, -1)
  return cid and checkpoint(cid) or nil
end
local function pop_top(reason)
  local cid = redis.call('RPOP', K.k)
  redis.call('HDEL', K.c, 'cp:' .. cid)
  redis.call('HDEL', K.x, 'cp:' .. cid, cid)
  local tag = load_tag(cid)
  if tag then
    tag.state, tag.reason = 'closed', reason
    save_tag(tag)
    trim('closed', K.c, cid)
  end
end
