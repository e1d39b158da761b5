-- The size of the next request: the last valid report and a calibrated estimate of what came after it. The pure twin is
-- engine/estimate: the same operations on doubles in the same order, so both agree to the last bit.
--   est   what is remembered between reports, packed in the order of REMEMBERED (calibration.py, Remembered)
--   span  what came after the report, and the sums over all entries, packed as {total, lead, late, turn, last, leading, sums}
-- A mass is {text, thinking, structure, sealed characters, sealed pieces, thoughts, replies}; sums lack the replies.
local REMEMBERED = {'counts', 'leaves', 'leaves_weight', 'root', 'root_weight', 'f', 'd', 'steps', 'base', 'output',
  'reasoned', 'carried', 'len', 'v', 'at', 'read', 'written', 'blind'}
local NO_TURN, STEERED, ENDED = 0, 1, 2
local UNSAID = -1
local E, SP, SIZED   -- read when asked for; SIZED: what predict last said
local LESSON         -- what the session tells its tenant, once
local function est()
  if E then return E end
  local raw = cmsgpack.unpack(S.est)
  E = {}
  for n, name in ipairs(REMEMBERED) do E[name] = raw[n] end
  return E
end
local function keep_est()
  local raw = {}
  for n, name in ipairs(REMEMBERED) do raw[n] = E[name] end
  S.est, dirty.est, SIZED = cmsgpack.pack(raw), true, nil
end
local function no_mass() return {0, 0, 0, 0, 0, 0, 0} end
local function no_span(sums)
  return {total=no_mass(), lead=no_mass(), late=no_mass(), turn=NO_TURN, last='', leading=true, sums=sums}
end
local function span()
  if SP then return SP end
  local raw = cmsgpack.unpack(S.span)
  SP = {total=raw[1], lead=raw[2], late=raw[3], turn=raw[4], last=raw[5], leading=raw[6], sums=raw[7]}
  return SP
end
local function keep_span()
  S.span = cmsgpack.pack({SP.total, SP.lead, SP.late, SP.turn, SP.last, SP.leading, SP.sums})
  dirty.span, SIZED = true, nil
end
local function is_anchored() return est().base > 0 end

local function meta(seq)
  local raw = redis.call('HGET', K.m, int(seq))
  return raw and cmsgpack.unpack(raw) or nil
end
-- Sums over [0, n).
local function sums_at(n)
  if n == 0 then return {0, 0, 0, 0, 0, 0} end
  if n == num('len') then return span().sums end
  local m = meta(n - 1)
  return {m[9], m[10], m[11], m[12], m[13], m[14]}
end
local function minus(a, b)
  local out = {}
  for n = 1, #a do out[n] = a[n] - b[n] end
  return out
end
local function plus(a, b)
  local out = {}
  for n = 1, #a do out[n] = a[n] + b[n] end
  return out
end
local function square(x) return x * x end
local function whole(x) return math.floor(x + 0.5) end
local function dot(a, b) return a[1] * b[1] + a[2] * b[2] + a[3] * b[3] end
local function times(d, p)
  return {d[1] * p[1] + d[2] * p[2] + d[3] * p[3], d[2] * p[1] + d[4] * p[2] + d[5] * p[3],
          d[3] * p[1] + d[5] * p[2] + d[6] * p[3]}
end
local function variance(d, p) return dot(p, times(d, p)) end
local function noise(tokens, steps) return steps * 900 + square(0.12 * tokens) end
local function tokens_in(mass) return mass[1] + mass[2] + mass[3] end

-- Reasoning (engine/estimate/reasoning.py).
local function average() return square(E.root) end
local function sealed_tokens(mass) return math.max(0, (mass[4] - 900 * mass[5]) / 6) end
local function unknown(mass) return math.max(0, math.min(mass[7], mass[6]) - mass[5]) end
local function expected(mass) return sealed_tokens(mass) + average() * unknown(mass) end
local function of_lead(lead)
  if lead[7] == 0 then return 0 end
  if E.reasoned >= 0 then return E.reasoned end
  if E.output > 0 then return math.max(0, E.output - dot(E.f, lead)) end
  if lead[5] > 0 or lead[6] == 0 then return sealed_tokens(lead) end
  return -1
end
local function reasoning()
  local sp, ended = SP, SP.turn == ENDED
  local early = ended and minus(sp.total, sp.late) or no_mass()
  if not E.counts then
    return {lead=sp.lead[2], early=early[2], late=sp.late[2], guessed=0}
  end
  local lead, rest = of_lead(sp.lead), minus(sp.total, sp.lead)
  local before, after = ended and minus(early, sp.lead) or no_mass(), ended and sp.late or rest
  local guessed = unknown(rest)
  if lead < 0 then lead, guessed = average(), guessed + 1 end
  if ended then return {lead=lead, early=expected(before) + lead, late=expected(after), guessed=guessed} end
  return {lead=lead, early=0, late=expected(after) + lead, guessed=guessed}
end
-- All that came in, by direction: thinking that the entries hold, or reasoning that they do not.
local function parts_of(thought)
  local total = SP.total
  return {total[1], E.counts and thought.early + thought.late or total[2], total[3]}
end

-- Tokens, and how far off they may be nine times in ten (engine/estimate/predicting.py). Anchored sessions only.
local function predict()
  local sp = span()
  if sp.last == '' then return {E.base, 0} end
  local thought = reasoning()
  local parts = parts_of(thought)
  local growth = dot(E.f, parts)
  local leaving = E.leaves * E.f[2] * (sp.turn == ENDED and E.carried + thought.early or 0)
  local spread = math.sqrt(variance(E.d, parts) + noise(tokens_in(parts), math.max(1, sp.total[7]))
    + thought.guessed * square(2 * average()))
  return {math.max(0, whole(E.base + growth - leaving)), whole(1.6 * spread)}
end
-- Our own estimate of insert and tail up to n, as this session has shown its tokens to be.
local function context_estimate(n)
  local from = math.min(n, num('upto'))
  return est().f[1] * num('instok') + dot(E.f, minus(sums_at(n), sums_at(from)))
end
local function sized()
  if not SIZED then SIZED = is_anchored() and predict() or {} end
  return SIZED
end
local function size()
  if is_anchored() then return sized()[1] end
  return math.max(0, whole(num('over') + context_estimate(num('len'))))
end
