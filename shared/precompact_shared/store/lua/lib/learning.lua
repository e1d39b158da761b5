-- What follows a report is folded entry by entry; the next report teaches (engine/estimate: spans.py, observing.py).
local function learning()
  local X = estimate()
  if X.settle then return X end
  local e, sp, max, min, sqrt = X.e, X.sp, math.max, math.min, math.sqrt
  local folded   -- the span holds entries up to there

  local function add(k, mass, j, replies)
    for n = 0, 5 do sp[k + n] = sp[k + n] + mass[j + n] end
    sp[k + 6] = sp[k + 6] + replies
  end
  -- One entry: who brought it, and its mass at mass[j].
  local function fold(side, mass, j)
    local last = sp[P_LAST]
    local replies = (side == 'r' and last ~= 'r') and 1 or 0
    sp[P_LEADING] = sp[P_LEADING] and side == 'r'
    if sp[P_LEADING] then add(P_LEAD, mass, j, replies) end
    if side == 'u' and last == 'r' then
      sp[P_TURN] = ENDED
      for n = 0, 6 do sp[P_LATE + n] = 0 end
    elseif side == 'u' and last ~= 'u' and sp[P_TURN] == NO_TURN then
      sp[P_TURN] = STEERED
    end
    add(P_TOTAL, mass, j, replies)
    add(P_LATE, mass, j, replies)
    sp[P_LAST] = (side == 's' and last == 'r') and 'r' or side
  end
  local function fold_to(n)
    local fresh_from = X.fresh_from or n
    local before = folded < min(n, fresh_from) and X.sums_at(folded) or nil
    while folded < n do
      if folded >= fresh_from then
        local load = X.fresh[folded - fresh_from + 1]
        fold(load[1], load, 2)
      else
        local m = meta(folded)
        fold(m[8], X.minus(m, 9, before, 1, 6), 1)
        before = {m[9], m[10], m[11], m[12], m[13], m[14]}
      end
      folded = folded + 1
    end
  end
  local function fold_from(n)
    for k = P_TOTAL, P_TURN - 1 do sp[k] = 0 end
    sp[P_TURN], sp[P_LAST], sp[P_LEADING], folded = NO_TURN, '', true, n
  end
  -- The span as it has to be: up to the last entry behind a report, nothing without one.
  function X.settle()
    if X.anchored then
      folded = folded or X.fresh_from or num('len')
      fold_to(num('len'))
    end
    X.keep_span()
  end
  function X.drop_anchor()
    if not X.anchored then return end
    for k = E_BASE, E_WRITTEN do e[k] = 0 end
    e[E_OUTPUT], e[E_REASONED], e[E_BLIND] = UNSAID, UNSAID, false
    X.keep_est()
    fold_from(num('len'))
    X.keep_span()
  end
  -- The history is `n` entries long now, or its entries have changed; `sums` are those of [0, n).
  function X.refold(n, sums)
    for k = 0, 5 do sp[P_SUMS + k] = sums[k + 1] end
    X.fresh, X.fresh_from = nil, nil
    if X.anchored then
      fold_from(e[E_LENGTH])
      fold_to(n)
    end
    X.keep_span()
  end

  function X.learner()
    local TEACHES_AT, LEAST = 8, {0.4, 0, 0.4}
    local P = X.predictor()
    -- One growth, three factors: a Kalman filter that doubts what looks unlike all before (calibration.py).
    local function correct(parts, growth, noise)
      local surprise, unsure = growth - X.in_session(parts, 1), P.variance(parts)
      local deviation = math.abs(surprise) / sqrt(unsure + noise)
      if deviation > 2 then noise = noise * (deviation / 2 * (deviation / 2)) end
      local x, y, z = P.times(parts)
      local reach, gain, k = {x, y, z}, {}, E_DOUBT
      for n = 1, 3 do
        gain[n] = reach[n] / (unsure + noise)
        e[E_FACTORS + n - 1] = min(2.5, max(LEAST[n], e[E_FACTORS + n - 1] + gain[n] * surprise))
      end
      for row = 1, 3 do
        for column = row, 3 do
          e[k] = e[k] - gain[row] * reach[column]
          k = k + 1
        end
      end
    end
    local function carry(old, fresh, left) e[E_CARRIED] = sp[P_TURN] == ENDED and fresh or (1 - left) * old end
    local function calibrate(parts, grown, leaving, left, doubt)
      correct(parts, grown + left * leaving, P.noise(parts, 1) + doubt * doubt)
      e[E_STEPS] = e[E_STEPS] + 1
      if e[E_STEPS] == TEACHES_AT then -- told to the tenant once
        X.lesson = {f={e[E_FACTORS], e[E_FACTORS + 1], e[E_FACTORS + 2]}, leaves=e[E_LEAVES], root=e[E_ROOT]}
      end
    end
    local function learn_reasoning(lead, guessed)
      if sp[P_LEAD + 6] == 0 or guessed > max(0, sp[P_TOTAL + 6] - 1) then return end
      local weight = e[E_ROOT_WEIGHT] * 0.9 + 1
      local counted = min(lead, 2 * (e[E_ROOT] * e[E_ROOT]) + 100)
      e[E_ROOT], e[E_ROOT_WEIGHT] = e[E_ROOT] + (sqrt(counted) - e[E_ROOT]) / weight, weight
    end
    local function learn_leaving(share, noise)
      if not (share > -0.5 and share < 1.5) then return end
      local weight = 1 / (noise + 0.05 * 0.05)
      local sum = e[E_LEAVES_WEIGHT] + weight
      local moved = (e[E_LEAVES] * e[E_LEAVES_WEIGHT] + share * weight) / sum
      e[E_LEAVES], e[E_LEAVES_WEIGHT] = min(1, max(0, moved)), min(sum, 30)
    end
    -- From the growth to a report of `total`, with the span in between (observing.py).
    return function(total)
      local lead, early, late, guessed = P.reasoning()
      local ended = sp[P_TURN] == ENDED
      local parts, grown = P.parts(early, late), total - e[E_BASE]
      local old, fresh = e[E_CARRIED] + (ended and early or late), ended and late or 0
      local leaving, likely = e[E_FACTORS + 1] * old, ended and e[E_LEAVES] or 0
      if e[E_BLIND] then return carry(old, fresh, likely) end
      if grown < -max(10000, 0.05 * e[E_BASE]) - e[E_FACTORS + 1] * e[E_CARRIED] then
        e[E_CARRIED] = 0
        return
      end
      if e[E_COUNTS] then learn_reasoning(lead, guessed) end
      if sp[P_TURN] == NO_TURN or leaving <= 100 then
        carry(old, fresh, likely)
        return calibrate(parts, grown, leaving, likely, 0)
      end
      local share = (X.in_session(parts, 1) - grown) / leaving
      local left = share > 0.5 and 1 or 0
      if ended then learn_leaving(share, P.noise(parts, 1) / (leaving * leaving)) end
      carry(old, fresh, left)
      calibrate(parts, grown, leaving, left, ended and 0.3 * leaving or 0)
    end
  end
  -- A report on [0, u.length): the new base; what grew since the last one teaches. Nothing grew where it is no longer.
  function X.observe(u)
    folded = folded or X.fresh_from or num('len')
    if X.anchored then
      if folded > u.length then fold_from(e[E_LENGTH]) end
      fold_to(u.length)
      if sp[P_LAST] ~= '' then X.learner()(u.total) end
    else
      e[E_CARRIED] = 0
    end
    e[E_BASE], e[E_OUTPUT], e[E_REASONED] = u.total, u.output or UNSAID, u.reasoned or UNSAID
    e[E_LENGTH], e[E_VERSION], e[E_BLIND] = u.length, u.version, false
    e[E_AT], e[E_READ], e[E_WRITTEN] = NOW, u.read or 0, u.written or 0
    X.keep_est()
    fold_from(u.length)
    X.unsettled = true
  end
  -- The next report teaches nothing. Returns whether that is new.
  function X.go_blind()
    if not X.anchored or e[E_BLIND] then return false end
    e[E_BLIND] = true
    X.keep_est()
    return true
  end
  -- Another model's calibration; a base that was reported before the model had a name stays.
  function X.begin_anew(start)
    local new = cmsgpack.unpack(start)
    for k = 1, E_BASE - 1 do e[k] = new[k] end
    X.keep_est()
  end
  return X
end
-- New entries and reports are in the span before anybody asks for the size. Without a report there is nothing to fold.
local function settle_span()
  local X = ESTIMATE
  if not X or not X.unsettled then return end
  X.unsettled = false
  if X.anchored then learning().settle() else X.keep_span() end
end
