-- How a session begins: version 0, rewritten_at 0; a revived one above its tombstone (rule 19). `start`: its calibration.
local function born(spec, version, incarnation, start)
  set('v', version); set('rw', version); set('inc', incarnation)
  set('fmt', spec.format); set('len', 0); set('cum', 0); set('head', ZERO_CHAIN); set('bytes', 0)
  set('cpat', version); set('created', NOW); set('last', NOW)
  if spec.model then set('model', spec.model) end
  if spec.window then set('win', spec.window) end
  if spec.max_output then set('out', spec.max_output) end
  if spec.parent then set('parent', spec.parent) end
  set('est', start); set('span', cmsgpack.pack({0,0,0,0,0,0,0, 0,0,0,0,0,0,0, 0,0,0,0,0,0,0, NO_TURN, '', true, 0,0,0,0,0,0}))
  ESTIMATE = nil
  redis.call('SADD', K.ix, NAME)
end
