-- Entries: facts packed by cmsgpack as {digest, chain, cum, flags, role, links, open, side, sums of [0, seq + 1)...}
-- (reading.py, EntryMeta).
local PER_ENTRY = 7   -- digest, tokens, role, pinned, links, load, body
local PINNED, REDACTED = 1, 2
local MOST_OPEN = 64   -- of Responses items, whose blocks nothing closes (engine/pairing.py, MOST_OPEN)
local function chain_at(n)
  if n == 0 then return ZERO_CHAIN end
  if n == num('len') then return S.head end
  local m = n > 0 and n < num('len') and meta(n - 1)
  return m and m[2] or nil
end
local function cum_at(n)
  if n == 0 then return 0 end
  if n == num('len') then return num('cum') end
  return meta(n - 1)[3]
end
-- Whether an entry ends the block of calls before it; pairing is by position, since ids repeat across turns.
local function closes(role, last)
  if S.fmt == 'anthropic' then return role == 'a' and last ~= 'a' end
  if S.fmt == 'openai-chat' then return role ~= 't' end
  return false
end
local function take_last(open, id)
  for n = #open, 1, -1 do
    if open[n][2] == id then return table.remove(open, n) end
  end
  return nil
end
local function pair_links(P, seq, links)
  local l = cjson.decode(links)
  for _, r in ipairs(l.r or {}) do
    if not take_last(P.open, r[1]) then P.orph[#P.orph + 1] = {seq, r[2], seq}; P.changed = true end
  end
  for _, id in ipairs(l.c or {}) do P.open[#P.open + 1] = {seq, id} end
  while S.fmt == 'openai-responses' and #P.open > MOST_OPEN do
    local oldest = table.remove(P.open, 1)
    P.dead[#P.dead + 1] = {oldest[1], oldest[2], seq}
    P.changed = true
  end
end
-- One entry joins the pairing state P {open, dead, orph, last}; returns the open calls behind it as JSON or ''.
local function pair_entry(P, seq, role, links)
  if #P.open > 0 and closes(role, P.last) then
    for _, o in ipairs(P.open) do P.dead[#P.dead + 1] = {o[1], o[2], seq} end
    P.open, P.changed = {}, true
  end
  if links ~= '' then pair_links(P, seq, links) end
  P.last = role
  return json_or_empty(P.open)
end
local function pairing() return {open=list(S.open), dead=list(S.dead), orph=list(S.orph), last=S.lastrole} end
local function keep_pairing(P)
  set('open', json_or_empty(P.open))
  if P.changed then set('dead', json_or_empty(P.dead)); set('orph', json_or_empty(P.orph)) end
  set('lastrole', P.last or '')
end
local function cut_pairing(P, p)
  local function before(rows)
    local kept = {}
    for _, row in ipairs(rows) do if row[3] < p then kept[#kept + 1] = row end end
    return kept
  end
  local m = p > 0 and meta(p - 1) or nil
  P.open, P.last = list(m and m[7]), m and m[5] or ''
  P.dead, P.orph, P.changed = before(P.dead), before(P.orph), true
end
local function entry_at(first, n)
  local at = first + n * PER_ENTRY
  return {digest=ARGV[at], tokens=tonumber(ARGV[at + 1]), role=ARGV[at + 2], pinned=ARGV[at + 3] == '1',
          links=ARGV[at + 4], load=cmsgpack.unpack(ARGV[at + 5]), body=ARGV[at + 6]}
end
-- A load is {side, text, thinking, structure, sealed characters, sealed pieces, thoughts}.
local function mass_of(load) return {load[2], load[3], load[4], load[5], load[6], load[7]} end
-- System and developer entries at the head are always pinned.
local function flags_of(e, seq)
  if e.role == 's' and seq == num('heads') then
    set('heads', seq + 1)
    return PINNED
  end
  return e.pinned and PINNED or 0
end
local function write_batch(key, rows)
  for n = 1, #rows, 200 do redis.call('HSET', key, unpack(rows, n, math.min(n + 199, #rows))) end
end
local function grow(added)
  local last = num('last')
  local dt = NOW - last
  set('gap', last > 0 and math.max(0, dt) or 0)
  if last > 0 and dt >= 0 and dt < 600000 then
    local ms, tokens = num('act_ms') * 0.8 + dt, num('act_tok') * 0.8 + added
    set('act_ms', string.format('%.3f', ms))
    set('act_tok', string.format('%.3f', tokens))
    if ms > 0 then set('grow', string.format('%.3f', tokens * 1000 / ms)) end
  end
  set('last', NOW)
end
-- Appends entries [skip, count) of those that start at ARGV[first]; cost depends on the new ones alone.
local function append_entries(first, skip, count)
  if skip >= count then return 0 end
  local seq, cum, head, bytes = num('len'), num('cum'), S.head, num('bytes')
  local P, metas, bodies, added, X = pairing(), {}, {}, 0, estimate()
  local sp, fresh = X.sp, {}
  X.fresh, X.fresh_from, X.unsettled = fresh, seq, true
  for n = skip, count - 1 do
    local e = entry_at(first, n)
    cum, added, bytes = cum + e.tokens, added + e.tokens, bytes + #e.body
    head = redis.sha1hex(head .. e.digest)
    local open = pair_entry(P, seq, e.role, e.links)
    fresh[#fresh + 1] = e.load
    for k = 0, 5 do sp[P_SUMS + k] = sp[P_SUMS + k] + e.load[k + 2] end
    local at, place = #metas + 1, int(seq)
    metas[at], metas[at + 1] = place, cmsgpack.pack({e.digest, head, cum, flags_of(e, seq), e.role, e.links, open,
      e.load[1], sp[P_SUMS], sp[P_SUMS + 1], sp[P_SUMS + 2], sp[P_SUMS + 3], sp[P_SUMS + 4],
      sp[P_SUMS + 5]})
    bodies[at], bodies[at + 1] = place, e.body
    seq = seq + 1
  end
  write_batch(K.m, metas)
  write_batch(K.b, bodies)
  keep_pairing(P)
  set('len', seq); set('cum', cum); set('head', head); set('bytes', bytes)
  grow(added)
  return count - skip
end
local function new_bytes(first, skip, count)
  local total = 0
  for n = skip, count - 1 do total = total + #ARGV[first + n * PER_ENTRY + 6] end
  return total
end
local function too_large(limits, first, skip, count)
  if skip >= count then return false end
  return num('len') + count - skip > limits.entries or num('bytes') + new_bytes(first, skip, count) > limits.bytes
end
-- How many of the entries that stand from `pos` we already have and are equal; stops at the first difference.
local function common_from(pos, first, count)
  local have = math.min(count, num('len') - pos)
  for n = 0, have - 1 do
    if meta(pos + n)[1] ~= ARGV[first + n * PER_ENTRY] then return n, true end
  end
  return math.max(0, have), false
end
