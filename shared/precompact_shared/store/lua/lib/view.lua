-- The session as this call leaves it (types.py, SessionView).
local function pairs_of(rows)
  local out = {}
  for n, row in ipairs(rows) do out[n] = {row[1], row[2]} end
  return out
end
local function some(t) if #t > 0 then return t end return nil end
local function view()
  local cands, X = {}, estimate()
  local e, tokens = X.e, X.size()
  for cid in each_cid() do cands[#cands + 1] = cjson.decode(redis.call('HGET', K.c, cid)) end
  local v = {tenant=TENANT, session=SID, incarnation=num('inc'), format=S.fmt, version=num('v'), rewritten_at=num('rw'),
    length=num('len'), head=S.head, tokens=tokens, history_tokens=num('cum'), model=field('model'),
    window=tonumber(S.win), max_output=tonumber(S.out), upto=num('upto'), checkpoint=field('cp'),
    checkpoint_n=num('cpn'), insert_tokens=num('instok'), cp_at=num('cpat'), anchored=X.anchored, spread=X.sized[2], lesson=X.lesson,
    growth_tokens_per_s=num('grow'), last_at_ms=num('last'), now_ms=NOW, entry_bytes=num('bytes'),
    observed_limit=tonumber(S.obs), gap_ms=num('gap'), overhead=num('over'),
    context_tokens=num('instok') + num('cum') - num('cumup'), parent=field('parent'), job=live_job(),
    open=some(list(S.open)), dead=some(pairs_of(list(S.dead))), orphans=some(pairs_of(list(S.orph))),
    candidates=some(cands), agent_cache=X.anchored and {e[E_AT], e[E_BASE], e[E_READ], e[E_WRITTEN]} or nil}
  return v
end
local function reply(o, answer)
  answer = answer or {}
  answer.o = o
  answer.view = view()
  return cjson.encode(answer)
end
local function refuse(o, answer)
  answer = answer or {}
  answer.o, answer.version, answer.length = o, num('v'), num('len')
  answer.rewritten_at, answer.head = num('rw'), S.head
  return cjson.encode(answer)
end
