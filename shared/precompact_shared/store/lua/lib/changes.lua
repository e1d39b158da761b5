-- Facts a call brings along: usage (rule 14), model, window, overflow. Returns whether anything changed.
local function drop_anchor()
  set('anc_total', 0); set('anc_len', 0); set('anc_cum', 0); set('cache', '')
end
local function usage_counts(u)
  if u.total <= 0 or u.version < num('cpat') or u.version < num('rw') or u.version > num('v') then return false end
  if u.length > num('len') then return false end
  if u.model and field('model') and u.model ~= S.model then return false end
  return not (num('anc_total') > 0 and num('anc_v') == u.version and u.length < num('anc_len'))
end
local function apply_usage(u)
  if not usage_counts(u) then return false end
  if num('anc_total') == u.total and num('anc_len') == u.length and num('anc_v') == u.version then return false end
  local cum = cum_at(u.length)
  set('anc_total', u.total); set('anc_len', u.length); set('anc_cum', cum); set('anc_v', u.version)
  set('cache', string.format('[%.0f,%.0f,%.0f,%.0f]', NOW, u.total, u.read or 0, u.written or 0))
  local fixed = math.max(0, u.total - (num('instok') + math.max(0, cum - num('cumup'))))
  if not field('over') or fixed < num('over') then set('over', fixed) end
  set('obs', '')
  return true
end
local function apply_model(model)
  if not model or model == S.model then return false end
  if field('model') then drop_anchor(); set('over', '') end
  set('model', model)
  return true
end
local function apply_number(name, value)
  if not value or value == tonumber(S[name]) then return false end
  set(name, value)
  return true
end
local function apply_changes(c)
  local before = field('model')
  local changed = apply_model(c.model)
  -- Usage is of the last reply: with a new model and no name it was the old one's, which is no base.
  if before and before ~= field('model') and c.usage and not c.usage.model then c.usage = nil end
  changed = apply_number('win', c.window) or changed
  changed = apply_number('out', c.max_output) or changed
  if c.usage then changed = apply_usage(c.usage) or changed end
  if c.overflow and num('obs') ~= size() then set('obs', size()); changed = true end
  return changed
end
