-- What a caller must have seen (rules 1, 2).
local function guard(version, length)
  if version > num('v') then return 'regressed' end
  if version < num('rw') then return 'rewritten' end
  return nil
end
