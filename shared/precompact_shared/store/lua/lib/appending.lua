-- What append and sync share: the caller's facts, the limits, the event.
local function settle(first, skip, count, changes, start)
  local appended = append_entries(first, skip, count)
  local changed = apply_changes(changes, start)
  flush()
  if appended > 0 or changed then emit_size() end
  return appended
end
