-- What follows a report is folded entry by entry; the next report teaches (engine/estimate: spans.py, observing.py).
local TEACHES_AT = 8
local FOLDED   -- the span holds entries up to here

local function add(sum, mass, replies)
  for n = 1, 6 do sum[n] = sum[n] + mass[n] end
  sum[7] = sum[7] + replies
end
local function fold(side, mass)
  local sp = SP
  local replies = (side == 'r' and sp.last ~= 'r') and 1 or 0
  sp.leading = sp.leading and side == 'r'
  if sp.leading then add(sp.lead, mass, replies) end
  if side == 'u' and sp.last == 'r' then
    sp.turn, sp.late = ENDED, no_mass()
  elseif side == 'u' and sp.last ~= 'u' and sp.turn == NO_TURN then
    sp.turn = STEERED
  end
  add(sp.total, mass, replies)
  add(sp.late, mass, replies)
  sp.last = side
end
local function fold_to(n)
  local at = FOLDED
  local before = at < n and at < (FRESH_FROM or n) and sums_at(at) or nil
  while at < n do
    local fresh = FRESH_FROM and FRESH[at - FRESH_FROM + 1]
    if fresh then
      fold(fresh[1], mass_of(fresh))
    else
      local m = meta(at)
      local sums = {m[9], m[10], m[11], m[12], m[13], m[14]}
      fold(m[8], minus(sums, before))
      before = sums
    end
    at = at + 1
  end
  FOLDED = n
end
-- Begins to fold anew at `from`, without what came before.
local function fold_from(from)
  SP = no_span(span().sums)
  FOLDED = from
end
-- The span as it has to be: up to the last entry behind a report, nothing without one.
local function settle_span()
  if not SP then return end
  FOLDED = FOLDED or FRESH_FROM or num('len')
  if is_anchored() then fold_to(num('len')) end
  keep_span()
end
local function drop_anchor()
  if not is_anchored() then return end
  E.base, E.output, E.reasoned, E.carried, E.len, E.v = 0, UNSAID, UNSAID, 0, 0, 0
  E.at, E.read, E.written, E.blind = 0, 0, 0, false
  keep_est()
  fold_from(num('len'))
  keep_span()
end
-- Where the history has just become `n` entries long, or its entries from `from` on have changed; `sums` are those of [0, n).
local function refold(n, sums)
  span().sums, FRESH, FRESH_FROM = sums, {}, nil
  if is_anchored() then fold_from(E.len); fold_to(n) end
  keep_span()
end

-- One growth, three factors: a Kalman filter that doubts what looks unlike all before (calibration.py).
local LEAST = {0.4, 0, 0.4}
local ROWS, COLUMNS = {1, 1, 1, 2, 2, 3}, {1, 2, 3, 2, 3, 3}
local function correct(parts, growth, noise_)
  local surprise, unsure = growth - dot(E.f, parts), variance(E.d, parts)
  local deviation = math.abs(surprise) / math.sqrt(unsure + noise_)
  if deviation > 2 then noise_ = noise_ * square(deviation / 2) end
  local reach, gain = times(E.d, parts), {}
  for n = 1, 3 do
    gain[n] = reach[n] / (unsure + noise_)
    E.f[n] = math.min(2.5, math.max(LEAST[n], E.f[n] + gain[n] * surprise))
  end
  for n = 1, 6 do E.d[n] = E.d[n] - gain[ROWS[n]] * reach[COLUMNS[n]] end
end
local function carry(growth, left) E.carried = SP.turn == ENDED and growth.fresh or (1 - left) * growth.old end
local function calibrate(growth, left, doubt)
  correct(growth.parts, growth.tokens + left * growth.leaving, noise(tokens_in(growth.parts), 1) + square(doubt))
  E.steps = E.steps + 1
  if E.steps == TEACHES_AT then
    LESSON = {f={E.f[1], E.f[2], E.f[3]}, leaves=E.leaves, root=E.root}
  end
end
local function learn_reasoning(thought)
  if SP.lead[7] == 0 or thought.guessed > math.max(0, SP.total[7] - 1) then return end
  local weight = E.root_weight * 0.9 + 1
  local counted = math.min(thought.lead, 2 * average() + 100)
  E.root, E.root_weight = E.root + (math.sqrt(counted) - E.root) / weight, weight
end
local function learn_leaving(share, noise_)
  if not (share > -0.5 and share < 1.5) then return end
  local weight = 1 / (noise_ + square(0.05))
  local sum = E.leaves_weight + weight
  local moved = (E.leaves * E.leaves_weight + share * weight) / sum
  E.leaves, E.leaves_weight = math.min(1, math.max(0, moved)), math.min(sum, 30)
end
local function learn(total, inner_calls)
  local thought, ended = reasoning(), SP.turn == ENDED
  local old = E.carried + (ended and thought.early or thought.late)
  local growth = {parts=parts_of(thought), tokens=total - E.base, carried=E.f[2] * E.carried, old=old,
    fresh=ended and thought.late or 0, leaving=E.f[2] * old}
  local likely = ended and E.leaves or 0
  if inner_calls then return carry(growth, likely) end
  if growth.tokens < -math.max(10000, 0.05 * E.base) - growth.carried then
    E.carried = 0
    return
  end
  if E.counts then learn_reasoning(thought) end
  if SP.turn == NO_TURN or growth.leaving <= 100 then
    carry(growth, likely)
    return calibrate(growth, likely, 0)
  end
  local share = (dot(E.f, growth.parts) - growth.tokens) / growth.leaving
  local left = share > 0.5 and 1 or 0
  if ended then learn_leaving(share, noise(tokens_in(growth.parts), 1) / square(growth.leaving)) end
  carry(growth, left)
  calibrate(growth, left, ended and 0.3 * growth.leaving or 0)
end
-- A report on [0, n): the new base; what grew since the last one teaches.
local function observe(u)
  span()
  FOLDED = FOLDED or FRESH_FROM or num('len')
  if is_anchored() and u.length < E.len then drop_anchor() end
  if is_anchored() then
    if FOLDED > u.length then fold_from(E.len) end
    fold_to(u.length)
    if SP.last ~= '' then learn(u.total, E.blind) end
  else
    E.carried = 0
  end
  E.base, E.output, E.reasoned, E.len, E.v = u.total, u.output or UNSAID, u.reasoned or UNSAID, u.length, u.version
  E.at, E.read, E.written, E.blind = NOW, u.read or 0, u.written or 0, false
  keep_est()
  fold_from(u.length)
  SIZED = nil
end
-- The next report teaches nothing. Returns whether that is new.
local function blind()
  if not is_anchored() or E.blind then return false end
  E.blind = true
  keep_est()
  return true
end
-- Another model's calibration; a base that was reported before the model had a name stays.
local function begin_anew(start)
  if start == '' then return end
  local old = est()
  S.est, E = start, nil
  est()
  for _, name in ipairs({'base', 'output', 'reasoned', 'carried', 'len', 'v', 'at', 'read', 'written', 'blind'}) do
    E[name] = old[name]
  end
  keep_est()
end
