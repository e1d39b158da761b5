-- Rebuilds chain, sums and pairing from seq `from` on after an entry changed in place; O(length - from).
-- `change(seq, meta, tokens, mass)` returns what the entry weighs now.
local function rechain(from, change)
  local P, head, cum, sums = pairing(), chain_at(from), cum_at(from), estimate().sums_at(from)
  local X = learning()
  cut_pairing(P, from)
  local rows = {}
  local before, before_sums = cum, estimate().sums_at(from)
  for seq = from, num('len') - 1 do
    local m = meta(seq)
    local was, was_sums = m[3], {m[9], m[10], m[11], m[12], m[13], m[14]}
    local tokens, mass = change(seq, m, was - before, X.minus(was_sums, 1, before_sums, 1, 6))
    before, before_sums = was, was_sums
    head, cum = redis.sha1hex(head .. m[1]), cum + tokens
    for n = 1, 6 do sums[n] = sums[n] + mass[n] end
    m[2], m[3] = head, cum
    for n = 1, 6 do m[8 + n] = sums[n] end
    m[7] = pair_entry(P, seq, m[5], m[6])
    rows[#rows + 1] = int(seq)
    rows[#rows + 1] = cmsgpack.pack(m)
  end
  write_batch(K.m, rows)
  keep_pairing(P)
  set('head', head); set('cum', cum)
  X.refold(num('len'), sums)
end
