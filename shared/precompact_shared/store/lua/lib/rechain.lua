-- Rebuilds chain, sums and pairing from seq `from` on after an entry changed in place; O(length - from).
local function rechain(from, change)
  local P, head, cum = pairing(), chain_at(from), cum_at(from)
  cut_pairing(P, from)
  local rows = {}
  local before = from > 0 and meta(from - 1)[3] or 0
  for seq = from, num('len') - 1 do
    local m = meta(seq)
    local tokens, was = m[3] - before, m[3]
    before = was
    tokens = change(seq, m, tokens)
    head, cum = redis.sha1hex(head .. m[1]), cum + tokens
    m[2], m[3] = head, cum
    m[7] = pair_entry(P, seq, m[5], m[6])
    rows[#rows + 1] = int(seq)
    rows[#rows + 1] = cmsgpack.pack(m)
  end
  write_batch(K.m, rows)
  keep_pairing(P)
  set('head', head); set('cum', cum)
end
