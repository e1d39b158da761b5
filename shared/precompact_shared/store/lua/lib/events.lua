-- Events: one field `e` holding JSON. A size event is a full statement, never a delta.
local function emit(event)
  event.tenant, event.session, event.at_ms = TENANT, SID, NOW
  event.version, event.length = num('v'), num('len')
  redis.call('XADD', K.ev, 'MAXLEN', '~', EVENTS_KEPT, '*', 'e', cjson.encode(event))
end
local function field(name) if S[name] and S[name] ~= '' then return S[name] end return nil end
local function each_cid()
  return string.gmatch(S.cands or '', '[^,]+')
end
local function live_job()
  local jid = field('job')
  local raw = jid and redis.call('HGET', K.j, jid)
  return raw and cjson.decode(raw) or nil
end
local function emit_size(rewritten)
  local event = {t='size', tokens=estimate().size(), window=tonumber(S.win), max_output=tonumber(S.out), model=field('model'),
    upto=num('upto'), cp=field('cp'), growth=num('grow'), open=#list(S.open), anchored=estimate().anchored,
    observed_limit=tonumber(S.obs), rewritten=rewritten or false}
  local job = live_job()
  if job then event.job = {jid=job.jid, kind=job.kind, state=job.state, version=job.version} end
  local cands = {}
  for cid in each_cid() do
    local tag = cjson.decode(redis.call('HGET', K.c, cid))
    cands[#cands + 1] = {cid, tag.slot, tag.upto, tag.tokens_after, tag.length_at_snapshot, tag.tokens_at_snapshot,
      tag.tokens_before}
  end
  if #cands > 0 then event.cands = cands end
  emit(event)
  redis.call('ZADD', K.un, 'NX', int(NOW), NAME)
end
