"""A fork in a random history: what the API does to copy a session, with copiers that come twice and too late."""

from __future__ import annotations

from random import Random

from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.types import CandidateTag, CheckpointTag, NewEntry
from tests.property.both import Both
from tests.property.compare import Differs
from tests.property.invariants import check


def fork(source: Both, entries: dict[str, NewEntry], rng: Random) -> None:
    """Copies a prefix of the session under a new id; the copy must be valid by itself (I1, I3, I5)."""
    if source.facts.view is None or not source.facts.metas:
        return
    keys = SessionKeys(source.keys.tenant, f"fork{rng.randrange(9)}", source.keys.shard)
    copy = Both(source.store, keys, source.now_ms, strict=source.strict)
    try:
        _copy(source, copy, entries, rng)
    finally:
        source.steps += [f"fork: {step}" for step in copy.steps]
        source.store.client.delete(*(key for key in keys.all if key not in source.keys.all))


def _copy(source: Both, copy: Both, entries: dict[str, NewEntry], rng: Random) -> None:
    length = rng.randrange(len(source.facts.metas) + 1)
    if source.facts.chain and rng.random() < 0.5:
        length = max(length, source.facts.chain[0].upto)
    wanted = [entries[meta.digest] for meta in source.facts.metas[:length]]
    copy.fork_open(source.keys.session, source.view.format)
    if rng.random() < 0.3 and length > 1:
        copy.fork_copy(
            0, [*wanted[: rng.randrange(length)], *wanted[-1:]]
        )  # a copier that read something older
    _fill(copy, source, wanted, rng)
    if copy.append(wanted[:1], key="early").o != "not_found":
        raise Differs("an unpublished copy was seen")
    points = [_point(source, tag) for tag in source.facts.chain if tag.upto <= length]
    copy.fork_publish(length + 1, points)
    copy.fork_publish(length, points)
    copy.fork_publish(length, points)
    check(copy, None)
    if [meta.digest for meta in copy.facts.metas] != [entry.digest for entry in wanted]:
        raise Differs("the copy holds other entries than its source up to the fork")
    if copy.view.version or copy.view.job or copy.view.candidates:
        raise Differs("rule 23: a fork begins at version 0 without jobs and candidates")


def _fill(copy: Both, source: Both, wanted: list[NewEntry], rng: Random) -> None:
    at, tries = 0, 0
    while at < len(wanted):
        tries += 1
        if tries > 30 + 10 * len(wanted):
            raise Differs("a copier that begins anew never ends")
        step = rng.randrange(1, 5)
        answer = copy.fork_copy(at, wanted[at : at + step])
        if answer.o != "ok":
            copy.fork_open(source.keys.session, source.view.format)
            at = 0
        elif rng.random() < 0.8:
            at = min(len(wanted), at + step)
    if copy.fork_publish(len(wanted) + 99).o != "gap":
        raise Differs("a copy of another length was published")
    if copy.facts.metas or not wanted:
        return
    raise Differs("nothing was copied")


def _point(source: Both, tag: CheckpointTag) -> tuple[CheckpointTag, CandidateTag, bytes, bytes]:
    text = source.facts.texts[f"cp:{tag.cid}"]
    return tag, source.facts.tags[tag.cid], text, text
