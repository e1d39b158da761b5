"""I1 to I3 and what follows from them, checked on what really stands in Redis."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from precompact_shared.engine.versions import Session
from precompact_shared.store import codec
from precompact_shared.store.types import CandidateTag, CheckpointTag, SessionView
from tests.property.both import Both
from tests.property.compare import Differs
from tests.property.facts import Facts

NO_ENTRIES = "0" * 40


@dataclass
class Truth:
    """What the callers know: kept by them, never read from the store."""

    acked: set[str] = field(default_factory=set)
    """Digests of entries a call was answered `ok` for."""
    undone: set[str] = field(default_factory=set)
    """Digests that somebody who had seen them removed."""
    adopted_at: set[tuple[int, int]] = field(default_factory=set)
    """(incarnation, version) at which an adoption succeeded."""

    def adopt(self, incarnation: int, version: int) -> None:
        """I2: at most one adoption per version."""
        _holds((incarnation, version) not in self.adopted_at, f"I2: two adoptions at version {version}")
        self.adopted_at.add((incarnation, version))


def check(both: Both, truth: Truth | None) -> None:
    """Everything that must hold after every step."""
    facts = both.facts
    if facts.view is None:
        if isinstance(both.state, Session):
            return  # a copy that is not published yet
        _holds(
            not facts.metas and not facts.bodies and not facts.texts, "a deleted session left bytes behind"
        )
        _holds(not facts.jobs and not facts.unhandled, "a deleted session left jobs behind")
        return
    chain = _check_entries(facts, facts.view)
    _check_chain(facts, facts.view)
    _check_candidates(facts, facts.view, chain)
    _check_jobs(both, facts, facts.view)
    if truth:
        check_truth(facts, truth)


def chain_of(digests: list[str]) -> list[str]:
    """Chain digests of `[0, n)` for every n."""
    chain = [NO_ENTRIES]
    for digest in digests:
        chain.append(hashlib.sha1((chain[-1] + digest).encode(), usedforsecurity=False).hexdigest())
    return chain


def source_of(text: bytes | None) -> list[str]:
    """What a candidate in these tests was made from."""
    return [part for part in codec.decode(text or b"r").decode().split(",") if part]


def check_truth(facts: Facts, truth: Truth) -> None:
    """Nothing lost, no ghost, nothing doubled."""
    have = [meta.digest for meta in facts.metas]
    lost = truth.acked - truth.undone - set(have)
    _holds(not lost, f"LOST: acknowledged, never undone by anyone who saw it: {len(lost)} entries")
    _holds(not truth.undone & set(have), "GHOST: an undone entry is back")
    _holds(len(set(have)) == len(have), "DOUBLED: an entry stands twice")


def _check_entries(facts: Facts, view: SessionView) -> list[str]:
    digests = [meta.digest for meta in facts.metas]
    chain = chain_of(digests)
    _holds(len(digests) == view.length, "I1: entries without a hole, as many as the length says")
    _holds(sorted(facts.bodies) == list(range(view.length)), "I1: one body per entry")
    _holds(chain[-1] == view.head, "the head digest is that of the entries")
    _holds([meta.chain for meta in facts.metas] == chain[1:], "chain digests are those of the entries")
    for seq, meta in enumerate(facts.metas):
        whole = hashlib.sha256(codec.decode(facts.bodies[seq])).hexdigest() == meta.digest
        _holds(whole != meta.redacted, f"entry {seq}: its body is as sent, or it is marked redacted")
    return chain


def _check_chain(facts: Facts, view: SessionView) -> None:
    top = facts.chain[-1] if facts.chain else None
    _holds((top.cid if top else None) == view.checkpoint, "the newest checkpoint projects")
    _holds((top.upto if top else 0) == view.upto <= view.length, "I1: the checkpoint covers what is there")
    for older, newer in zip(facts.chain, facts.chain[1:], strict=False):
        grows = newer.upto > older.upto or (newer.kind == "clearing" and newer.upto == older.upto)
        _holds(grows and newer.n > older.n, "the chain grows")
    digests = [meta.digest[:12] for meta in facts.metas]
    for point in facts.chain:
        _check_source(facts, point, digests)


def _check_source(facts: Facts, point: CheckpointTag, digests: list[str]) -> None:
    source = source_of(facts.texts.get(f"cp:{point.cid}"))
    _holds(source[: point.upto] == digests[: point.upto], f"I3: {point.cid} was made from what it replaces")
    end = point.through if point.edit_limit is None else min(point.through, point.edit_limit)
    _holds(source[:end] == digests[:end], f"I3: the edits of {point.cid} fit what they edit")


def _check_candidates(facts: Facts, view: SessionView, chain: list[str]) -> None:
    digests = [meta.digest[:12] for meta in facts.metas]
    for tag in view.candidates:
        _holds(tag.version == view.version, f"{tag.cid}: an open candidate carries the session's version")
        _holds(tag.reach <= view.length and chain[tag.reach] == tag.prefix, f"{tag.cid}: its prefix holds")
        _holds(source_of(facts.texts.get(tag.cid)) == digests[: tag.reach], f"I3: {tag.cid} was made from it")
    open_ones = [tag.cid for tag in view.candidates]
    marked = [tag.cid for tag in facts.tags.values() if tag.state == "open"]
    _holds(sorted(open_ones) == sorted(marked), "open candidates are those the view shows")
    for slot in ("speculative", "manual"):
        _holds(sum(tag.slot == slot for tag in view.candidates) <= 1, f"rule 9: one {slot} candidate")
    kept = {*open_ones, *(point.cid for point in facts.chain), *(f"cp:{point.cid}" for point in facts.chain)}
    _holds(
        set(facts.texts) == kept, "texts stand of open candidates and current checkpoints, and of no others"
    )


def _check_jobs(both: Both, facts: Facts, view: SessionView) -> None:
    live = [job for job in facts.jobs if job.is_live]
    _holds(len(live) <= 1, "rule 17: one live job")
    _holds([job.jid for job in live] == ([view.job.jid] if view.job else []), "the view shows the live job")
    members = frozenset(f"{both.keys.name}\n{job.jid}" for job in live)
    looked_at = {member for member in facts.in_open_jobs if member.startswith(f"{both.keys.name}\n")}
    _holds(looked_at == members, "I6: the sweeper finds exactly the live job")
    for job in live:
        _holds(job.version == view.version, "rule 5: a live job carries the session's version")
        base = facts.tags.get(job.base or "")
        alive = job.base is None or job.base == view.checkpoint or (base is not None and base.state == "open")
        _holds(alive, "rule 16: a live job's base lives")


def _holds(fact: bool, what: str) -> None:
    if not fact:
        raise Differs(what)


__all__ = ["CandidateTag", "Truth", "chain_of", "check", "source_of"]
