-- The size of the next request: the last valid report and a calibrated estimate of what came after it. The pure twin is
-- engine/estimate: the same operations on doubles in the same order, so both agree to the last bit.
--   est   what is remembered between reports, one list of numbers (calibration.py, Remembered): E_* below
--   span  what came after the report, and sums over all entries, one list too: P_* below
-- A mass is text, thinking, structure, sealed characters, sealed pieces, thoughts, replies; sums lack the replies.
-- Everything is made on first use in functions of their own: a closure in a long script costs as much as a command.
--- @define E_COUNTS 1
--- @define E_LEAVES 2
--- @define E_LEAVES_WEIGHT 3
--- @define E_ROOT 4
--- @define E_ROOT_WEIGHT 5
--- @define E_FACTORS 6
--- @define E_DOUBT 9
--- @define E_STEPS 15
--- @define E_BASE 16
--- @define E_OUTPUT 17
--- @define E_REASONED 18
--- @define E_CARRIED 19
--- @define E_LENGTH 20
--- @define E_VERSION 21
--- @define E_AT 22
--- @define E_READ 23
--- @define E_WRITTEN 24
--- @define E_BLIND 25
--- @define P_TOTAL 1
--- @define P_LEAD 8
--- @define P_LATE 15
--- @define P_TURN 22
--- @define P_LAST 23
--- @define P_LEADING 24
--- @define P_SUMS 25
--- @define NO_TURN 0
--- @define STEERED 1
--- @define ENDED 2
--- @define UNSAID -1
local ESTIMATE   -- e: est, sp: span, both unpacked; anchored; sized: what `size` last said
local function meta(seq)
  local raw = redis.call('HGET', K.m, int(seq))
  return raw and cmsgpack.unpack(raw) or nil
end
local function estimate()
  local X = ESTIMATE
  if X then return X end
  local e, sp = cmsgpack.unpack(S.est), cmsgpack.unpack(S.span)
  local max, floor = math.max, math.floor
  X = {e=e, sp=sp, anchored=e[E_BASE] > 0}
  ESTIMATE = X
  -- Tokens of text, thinking and structure at m[k] in this session.
  function X.in_session(m, k) return e[E_FACTORS] * m[k] + e[E_FACTORS + 1] * m[k + 1] + e[E_FACTORS + 2] * m[k + 2] end
  function X.minus(a, j, b, k, count)
    local out = {}
    for n = 0, count - 1 do out[n + 1] = a[j + n] - b[k + n] end
    return out
  end
  -- Sums over [0, n).
  function X.sums_at(n)
    if n == 0 then return {0, 0, 0, 0, 0, 0} end
    local m, k = sp, P_SUMS
    if n ~= num('len') then m, k = meta(n - 1), 9 end
    return {m[k], m[k + 1], m[k + 2], m[k + 3], m[k + 4], m[k + 5]}
  end
  -- Our own estimate of insert and tail up to n, as this session has shown its tokens to be.
  function X.context(n)
    local tail = X.minus(X.sums_at(n), 1, X.sums_at(math.min(n, num('upto'))), 1, 3)
    return e[E_FACTORS] * num('instok') + X.in_session(tail, 1)
  end
  function X.keep_est()
    S.est, dirty.est, X.sized, X.anchored = cmsgpack.pack(e), true, nil, e[E_BASE] > 0
  end
  function X.keep_span()
    S.span, dirty.span, X.sized = cmsgpack.pack(sp), true, nil
  end

  -- What a size with a report behind it takes (engine/estimate: predicting.py, reasoning.py).
  function X.predictor()
    if X.predict then return X end
    local in_session, minus, min, sqrt = X.in_session, X.minus, math.min, math.sqrt
    -- The doubt times the parts, as three numbers.
    function X.times(parts)
      local x, y, z = parts[1], parts[2], parts[3]
      return e[E_DOUBT] * x + e[E_DOUBT + 1] * y + e[E_DOUBT + 2] * z,
        e[E_DOUBT + 1] * x + e[E_DOUBT + 3] * y + e[E_DOUBT + 4] * z,
        e[E_DOUBT + 2] * x + e[E_DOUBT + 4] * y + e[E_DOUBT + 5] * z
    end
    function X.variance(parts)
      local x, y, z = X.times(parts)
      return parts[1] * x + parts[2] * y + parts[3] * z
    end
    function X.noise(parts, steps)
      local scaled = 0.12 * (parts[1] + parts[2] + parts[3])
      return steps * 900 + scaled * scaled
    end
    local function sealed(m, k) return max(0, (m[k + 3] - 900 * m[k + 4]) / 6) end
    -- Replies of which nobody says how much they reasoned.
    local function unknown(m, k) return max(0, min(m[k + 6], m[k + 5]) - m[k + 4]) end
    local function expected(m, k) return sealed(m, k) + e[E_ROOT] * e[E_ROOT] * unknown(m, k) end
    local function of_lead()
      if sp[P_LEAD + 6] == 0 then return 0 end
      if e[E_REASONED] >= 0 then return e[E_REASONED] end
      if e[E_OUTPUT] > 0 then return max(0, e[E_OUTPUT] - in_session(sp, P_LEAD)) end
      if sp[P_LEAD + 4] > 0 or sp[P_LEAD + 5] == 0 then return sealed(sp, P_LEAD) end
      return UNSAID
    end
    -- Of the lead; of all replies before and after the last turn began; and how many of them are guessed. In tokens of
    -- the family.
    function X.reasoning()
      local ended = sp[P_TURN] == ENDED
      if not e[E_COUNTS] then
        return sp[P_LEAD + 1], ended and sp[P_TOTAL + 1] - sp[P_LATE + 1] or 0, sp[P_LATE + 1], 0
      end
      local lead, rest = of_lead(), minus(sp, P_TOTAL, sp, P_LEAD, 7)
      local guessed = unknown(rest, 1)
      if lead < 0 then lead, guessed = e[E_ROOT] * e[E_ROOT], guessed + 1 end
      if not ended then return lead, 0, expected(rest, 1) + lead, guessed end
      local before = minus(minus(sp, P_TOTAL, sp, P_LATE, 7), 1, sp, P_LEAD, 7)
      return lead, expected(before, 1) + lead, expected(sp, P_LATE), guessed
    end
    -- All that came in, by direction: thinking that the entries hold, or reasoning that they do not.
    function X.parts(early, late)
      return {sp[P_TOTAL], e[E_COUNTS] and early + late or sp[P_TOTAL + 1], sp[P_TOTAL + 2]}
    end
    -- Tokens, and how far off they may be nine times in ten.
    function X.predict()
      if sp[P_LAST] == '' then return {e[E_BASE], 0} end
      local _, early, late, guessed = X.reasoning()
      local parts = X.parts(early, late)
      local growth = in_session(parts, 1)
      local leaving = e[E_LEAVES] * e[E_FACTORS + 1] * (sp[P_TURN] == ENDED and e[E_CARRIED] + early or 0)
      local twice = 2 * (e[E_ROOT] * e[E_ROOT])
      local spread = sqrt(X.variance(parts) + X.noise(parts, max(1, sp[P_TOTAL + 6]))
        + guessed * (twice * twice))
      return {max(0, floor(e[E_BASE] + growth - leaving + 0.5)), floor(1.6 * spread + 0.5)}
    end
    return X
  end
  function X.size()
    if not X.sized then
      X.sized = X.anchored and X.predictor().predict()
        or {max(0, floor(num('over') + X.context(num('len')) + 0.5))}
    end
    return X.sized[1]
  end
  return X
end
