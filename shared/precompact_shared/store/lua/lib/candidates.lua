-- Candidates: open ones stand in S.cands; a closed one keeps its tag for a while and loses its text at once.
local function load_tag(cid)
  local raw = redis.call('HGET', K.c, cid)
  return raw and cjson.decode(raw) or nil
end
local function save_tag(tag) redis.call('HSET', K.c, tag.cid, cjson.encode(tag)) end
local function forget_open(cid)
  local kept = {}
  for other in each_cid() do if other ~= cid then kept[#kept + 1] = other end end
  set('cands', table.concat(kept, ','))
end
local function close_tag(tag, reason)
  tag.state, tag.reason = 'closed', reason
  save_tag(tag)
  redis.call('HDEL', K.x, tag.cid)
  forget_open(tag.cid)
  trim('closed', K.c, tag.cid)
  note('closed', {cid=tag.cid, reason=reason})
  emit({t='closed', cid=tag.cid, reason=reason})
  -- A base that closes closes its refresh.
  local job = live_job()
  if job and job.base == tag.cid then end_job(job, 'cancelled', reason) end
end
local function open_tags()
  local tags = {}
  for cid in each_cid() do tags[#tags + 1] = load_tag(cid) end
  return tags
end
local function close_floors(jid, keep)
  for _, tag in ipairs(open_tags()) do
    if tag.slot == 'floor' and tag.cid ~= keep and (not jid or tag.job == jid) then close_tag(tag, 'superseded') end
  end
end
-- Ahead of the current checkpoint (rule 7): a clearing candidate by its edits, any other by what it covers.
local function ahead(tag)
  if tag.through and tag.through > 0 then return tag.upto >= num('upto') and tag.through > num('thr') end
  return tag.upto > num('upto')
end
-- Candidates and the live job move to the new version if `stays(tag)`, else they close (rules 6, 16).
local function bump(stays)
  local old, new = num('v'), num('v') + 1
  set('v', new)
  local gone = {}
  for _, tag in ipairs(open_tags()) do
    if tag.version == old and stays(tag) then
      tag.version = new
      save_tag(tag)
    else
      gone[#gone + 1] = tag
    end
  end
  local job = live_job()
  if job and job.version == old and job.upto and stays(job) then
    job.version = new
    save_job(job)
  elseif job then
    end_job(job, 'cancelled', 'version_changed')
  end
  for _, tag in ipairs(gone) do close_tag(tag, 'version_changed') end
end
