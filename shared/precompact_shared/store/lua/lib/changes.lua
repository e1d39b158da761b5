-- Facts a call brings along: usage (rule 14), model, window, overflow. Returns whether anything changed.
local function usage_counts(u)
  if u.total <= 0 or u.version < num('cpat') or u.version < num('rw') or u.version > num('v') then return false end
  if u.length > num('len') then return false end
  if u.model and field('model') and u.model ~= S.model then return false end
  local e = estimate().e
  return not (e[E_BASE] > 0 and e[E_VERSION] == u.version and u.length < e[E_LENGTH])
end
local function apply_usage(u)
  if not usage_counts(u) then return false end
  local X = learning()
  local e = X.e
  if e[E_BASE] == u.total and e[E_LENGTH] == u.length and e[E_VERSION] == u.version then return false end
  -- Server-side tools: several passes in one number, which is no prompt's size and spoils what the growth would teach.
  if u.server then return X.go_blind() end
  X.observe(u)
  local fixed = math.max(0, u.total - math.floor(X.context(u.length) + 0.5))
  if not field('over') or fixed < num('over') then set('over', fixed) end
  set('obs', '')
  return true
end
local function apply_model(model, start)
  if not model or model == S.model then return false end
  if field('model') then learning().drop_anchor(); set('over', '') end
  if start ~= '' then learning().begin_anew(start) end
  set('model', model)
  return true
end
local function apply_number(name, value)
  if not value or value == tonumber(S[name]) then return false end
  set(name, value)
  return true
end
local function apply_changes(c, start)
  local before = field('model')
  local changed = apply_model(c.model, start)
  -- Usage is of the last reply: with a new model and no name it was the old one's, which is no base.
  if before and before ~= field('model') and c.usage and not c.usage.model then c.usage = nil end
  changed = apply_number('win', c.window) or changed
  changed = apply_number('out', c.max_output) or changed
  if c.usage then changed = apply_usage(c.usage) or changed end
  settle_span()
  if c.overflow and num('obs') ~= estimate().size() then set('obs', estimate().size()); changed = true end
  return changed
end
