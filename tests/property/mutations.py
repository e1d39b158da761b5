"""Guards of the Lua scripts, each with the smallest change that breaks it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import precompact_shared.store
from precompact_shared.store import executor

FOLDER = Path(precompact_shared.store.__file__).parent / "lua"


@dataclass(frozen=True)
class Mutation:
    """In `file` (below lua/), `pattern` becomes `replacement`. `alone`: the invariants see it without the twin."""

    file: str
    pattern: str
    replacement: str = ""
    alone: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.pattern[:60]}"


MUTATIONS = (
    Mutation("lib/guards.lua", "if version < num('rw') then return 'rewritten' end", alone=True),
    Mutation("lib/guards.lua", "if version > num('v') then return 'regressed' end"),
    Mutation("rewind.lua", "if length ~= num('len') then return refuse('unseen_end') end", alone=True),
    Mutation("replace.lua", "if length ~= num('len') then return refuse('unseen_end') end"),
    Mutation("redact.lua", "if length ~= num('len') then return refuse('unseen_end') end"),
    Mutation(
        "sync.lua", "if removes and not heal and length ~= num('len') then", "if false then", alone=True
    ),
    Mutation("append.lua", "if differs then return refuse('diverged', {common=pos + skip}) end", alone=True),
    Mutation("append.lua", "if again then return again end", alone=True),
    Mutation("append.lua", "if too_large(limits, FIRST, skip, count) then return refuse('session_full') end"),
    Mutation("lib/rewrite.lua", "while record and record.upto > p do", "while false do", alone=True),
    Mutation("lib/rewrite.lua", "  limit_edits(p)\n", alone=True),
    Mutation("lib/rewrite.lua", "return reach(tag) <= p end)", "return true end)", alone=True),
    Mutation("lib/rewrite.lua", "return reach(tag) <= p end)", "return false end)"),
    Mutation("lib/rewrite.lua", "if S.rwh ~= req then return nil end", "if true then return nil end"),
    Mutation("lib/rewrite.lua", "if estimate().e[E_LENGTH] > p then learning().drop_anchor() end"),
    Mutation("redact.lua", "rewrite(lowest, drop_sighted(lowest))", "rewrite(lowest)", alone=True),
    Mutation("lib/candidates.lua", "and job.upto and stays(job)", "and (not job.upto or stays(job))"),
    Mutation(
        "lib/candidates.lua",
        "if job and job.base == tag.cid then end_job(job, 'cancelled', reason) end",
        alone=True,
    ),
    Mutation("lib/candidates.lua", "  redis.call('HDEL', K.x, tag.cid)\n", alone=True),
    Mutation("lib/jobs.lua", "if job.state ~= 'running' or job.fence ~= fence then return 'fence' end"),
    Mutation("lib/jobs.lua", "if job.state == 'cancelled' then return job.reason or 'cancelled' end"),
    Mutation("lib/changes.lua", "or u.version < num('cpat')"),
    Mutation("lib/changes.lua", "if u.server then return X.go_blind() end"),
    Mutation("lib/changes.lua", "if start ~= '' then learning().begin_anew(start) end"),
    Mutation("lib/changes.lua", "  settle_span()\n"),
    Mutation("lib/rewrite.lua", "  learning().refold(p, sums)\n"),
    Mutation("lib/rechain.lua", "  X.refold(num('len'), sums)\n"),
    Mutation("lib/learning.lua", "if folded > u.length then fold_from(e[E_LENGTH]) end"),
    Mutation("lib/learning.lua", "if sp[P_LAST] ~= '' then X.learner()(u.total) end", "X.learner()(u.total)"),
    Mutation("lib/learning.lua", "if e[E_BLIND] then", "if false then"),
    Mutation(
        "lib/learning.lua",
        "if grown < -max(10000, 0.05 * e[E_BASE]) - e[E_FACTORS + 1] * e[E_CARRIED] then",
        "if false then",
    ),
    Mutation("lib/learning.lua", "if sp[P_TURN] == NO_TURN or leaving <= 100 then", "if leaving <= 100 then"),
    Mutation("lib/learning.lua", "if not (share > -0.5 and share < 1.5) then return end"),
    Mutation("lib/learning.lua", "if deviation > 2 then", "if false then"),
    Mutation("lib/learning.lua", "if e[E_COUNTS] then learn_reasoning(lead, guessed) end"),
    Mutation("lib/learning.lua", "e[E_OUTPUT], e[E_REASONED], e[E_BLIND] = UNSAID, UNSAID, false"),
    Mutation("lib/session.lua", "return load_hash() and S.vis ~= '0'", "return load_hash()"),
    Mutation("claim.lua", "if live and spec.kind ~= 'manual' then", "if false then"),
    Mutation(
        "claim.lua",
        "if BACKGROUND[live.kind] and (spec.kind == 'due' or spec.kind == 'overflow') then hurry(live) end",
    ),
    Mutation("claim.lua", "job.state, job.not_before_ms = 'ready', 0", "job.state = 'ready'"),
    Mutation("claim.lua", "    job.hurried = true\n"),
    Mutation("finish.lua", "if job.hurried then delay, job.hurried = 0, nil end"),
    Mutation("claim.lua", "if live then end_job(live, 'cancelled', 'superseded') end", alone=True),
    Mutation("claim.lua", "or base.state ~= 'open' or base.version ~= num('v')"),
    Mutation("claim.lua", "if overflow_at and S.ovf == overflow_at then return reply('once') end"),
    Mutation("claim.lua", "if version and version ~= num('v') then return refuse('version_changed') end"),
    Mutation(
        "start.lua", "if job.state == 'running' and job.lease_until_ms > NOW then return skip('running') end"
    ),
    Mutation("start.lua", "job.upto, job.through, job.prefix = nil, nil, nil"),
    Mutation("start.lua", "if job.attempt >= max then", "if false then"),
    Mutation("beat.lua", "if a.upto > reach(a) or chain_at(reach(a)) ~= a.prefix then", "if false then"),
    Mutation("put.lua", "if elsewhere or chain_at", "if chain_at"),
    Mutation("put.lua", "if not ahead(tag) then return 'not_ahead' end"),
    Mutation("put.lua", "if not ahead_of_base() then return 'not_ahead' end"),
    Mutation("put.lua", "if tag.tokens_after >= tag.tokens_before then return 'not_smaller' end"),
    Mutation("put.lua", "if old.slot == tag.slot then close_tag(old, 'superseded') end", alone=True),
    Mutation("adopt.lua", "if S.cp == cid then return reply('already', {record=checkpoint(cid)}) end"),
    Mutation("adopt.lua", "not tag or tag.state ~= 'open'", "not tag", alone=True),
    Mutation(
        "adopt.lua", "if version ~= num('v') then return reply('refused', {reason='version_changed'}) end"
    ),
    Mutation("adopt.lua", "if length ~= num('len') then return reply('length_moved') end"),
    Mutation(
        "adopt.lua", "bump(function(other) return other.base == cid end)", "bump(function() return true end)"
    ),
    Mutation("adopt.lua", "job.kind == 'manual' and tag.slot ~= 'manual' and not forced", "false"),
    Mutation("revert.lua", "if not record or record.n ~= n then", "if not record then"),
    Mutation("revert.lua", "bump(function() return false end)", "bump(function() return true end)"),
    Mutation("create.lua", "math.max(tonumber(tomb[1]), tonumber(tomb[2])) + 1", "0"),
    Mutation("create.lua", "if not recreate then return cjson.encode({o='gone'}) end"),
    Mutation("delete.lua", "K.c, K.x, K.j,", "K.c, K.j,", alone=True),
    Mutation(
        "due.lua",
        "if job.lease_until_ms > NOW then look_at(job, job.lease_until_ms); return cjson.encode({o='later'}) end",
    ),
    Mutation("finish.lua", "if action == 'release' then job.attempt = job.attempt - 1 end"),
    Mutation(
        "handled.lua",
        "if version ~= num('v') or length ~= num('len') then return cjson.encode({o='moved'}) end",
    ),
    Mutation(
        "fork_copy.lua", "if differs then return refuse('diverged', {common=at + skip}) end", alone=True
    ),
    Mutation("fork_publish.lua", "if length ~= num('len') then return refuse('gap') end", alone=True),
)


def broken(mutation: Mutation | None) -> tuple[Callable[[str], bytes], Callable[[str], str]]:
    """`script_source` and `script_sha` as they would be with the guard broken."""

    def text(path: Path) -> bytes:
        raw = path.read_text(encoding="utf-8")
        if mutation and path == FOLDER / mutation.file:
            raw = raw.replace(mutation.pattern, mutation.replacement)
        return raw.encode()

    @cache
    def source(name: str) -> bytes:
        raw = text(FOLDER / f"{name}.lua")
        included = executor._INCLUDE.sub(lambda match: text(FOLDER / "lib" / match[1].decode()), raw)
        return executor.with_defines(included)

    @cache
    def sha(name: str) -> str:
        return hashlib.sha1(source(name), usedforsecurity=False).hexdigest()

    return source, sha
