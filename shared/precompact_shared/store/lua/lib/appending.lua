-- What append and sync share: the caller's facts, the limits, the event.
local function settle(first, skip, count, changes)
  local appended = append_entries(first, skip, count)
  local changed = apply_changes(changes)
  flush()
  if appended > 0 or changed then emit_size() end
  return appended
end
