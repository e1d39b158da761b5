"""Who plays in a random history: clients with a view of their own, a network that delays and doubles, workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import msgspec

from precompact_shared.store.ops import Announcement
from precompact_shared.store.types import Answer, JobTag, Load, NewEntry, Seen
from tests.property.both import Both
from tests.property.invariants import Truth, chain_of, source_of
from tests.property.making import candidate_tag, made_entry


@dataclass
class Client:
    """What a caller holds: the list as it last saw it, and the pair that goes with it."""

    entries: list[NewEntry] = field(default_factory=list)
    version: int = 0

    @property
    def seen(self) -> Seen:
        """The pair it sends along."""
        return Seen(self.version, len(self.entries))


@dataclass
class Request:
    """A call on its way. Delivering it twice is what a retry or a slow network does."""

    client: Client
    send: Callable[[], Answer]
    adds: list[str]
    saw: list[str]


@dataclass
class Run:
    """An attempt of a worker: what it read when it began, and where it said it would cut."""

    job: JobTag
    base_upto: int
    base: list[str]
    entries: list[str] | None
    """Digests as read; None until a slow worker reads them."""
    announced: Announcement | None = None
    stored_floor: bool = False

    def source(self) -> list[str]:
        """What the text is made from: the base's own source, then the entries that follow it."""
        said = self.announced
        reach = (said.through or said.upto) if said else 0
        short = [digest[:12] for digest in self.entries or []]
        return self.base[: self.base_upto] + short[self.base_upto : reach]


class Entries:
    """Makes entries that never repeat, with calls and results whose ids do."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.made: dict[str, NewEntry] = {}

    def new(self) -> NewEntry:
        """One more entry."""
        rng, text = self.rng, f"m{len(self.made)}"
        entry = made_entry(text, tokens=rng.randrange(1, 40), role="u")
        kind = rng.random()
        if kind < 0.25:
            calls = tuple(f"function:{rng.choice('ab')}" for _ in range(rng.randrange(1, 3)))
            entry = made_entry(text, role="a", calls=calls)
        elif kind < 0.45:
            entry = made_entry(text, role="t", results=((f"function:{rng.choice('ab')}", rng.randrange(3)),))
        elif kind < 0.6:
            entry = made_entry(text, role="a")
        elif kind < 0.66:
            entry = made_entry(text, role="s")
        elif kind < 0.72:
            entry = made_entry(text, pinned=True)
        entry = msgspec.structs.replace(entry, load=self._load(entry))
        self.made[entry.digest] = entry
        return entry

    def _load(self, entry: NewEntry) -> Load | None:
        rng = self.rng
        if rng.random() < 0.1:
            return None
        sealed = rng.choice((0, 0, 0, 1))
        side = rng.choice("ugs") if entry.role == "u" else "r" if entry.role == "a" else "g"
        return Load(
            side,
            entry.tokens * rng.choice((1, 1, 30)),
            rng.choice((0, 0, 7, 900)),
            57 * len(entry.calls),
            sealed * rng.randrange(800, 4000),
            sealed,
            int(side == "r" and rng.random() < 0.7),
        )

    def some(self, most: int = 3) -> list[NewEntry]:
        """One to `most` entries."""
        return [self.new() for _ in range(self.rng.randrange(1, most + 1))]


def read(both: Both, client: Client, entries: Entries) -> None:
    """The caller looks at the session."""
    if both.facts.view is None:
        return
    client.entries = [entries.made[meta.digest] for meta in both.facts.metas]
    client.version = both.facts.view.version


def deliver(both: Both, request: Request, truth: Truth, entries: Entries, *, hears: bool) -> Answer:
    """The request arrives. What it removed counts as undone, what it added as acknowledged."""
    before = {meta.digest for meta in both.facts.metas}
    answer = request.send()
    if answer.o != "ok":
        return answer
    after = {meta.digest for meta in both.facts.metas}
    truth.undone |= (before - after) & set(request.saw)
    if not answer.replayed:
        truth.acked |= set(request.adds)
    if hears:
        read(both, request.client, entries)
    return answer


def begin(both: Both, answer: Answer, *, slow: bool) -> Run | None:
    """A worker that was told `started` reads its base; a slow one reads the entries later."""
    job, view = answer.job, answer.view
    if job is None or view is None:
        return None
    if answer.base is not None and answer.base.state == "open":
        upto, text = answer.base.upto, both.facts.texts.get(answer.base.cid)
    elif view.checkpoint:
        upto, text = view.upto, both.facts.texts.get(f"cp:{view.checkpoint}")
    else:
        upto, text = 0, b"r"
    digests = None if slow else [meta.digest for meta in both.facts.metas]
    return Run(job, upto, source_of(text), digests)


def announce(both: Both, run: Run, rng: Random) -> Answer | None:
    """The worker plans its cut and says so; sometimes with a digest that does not hold."""
    if run.entries is None:
        run.entries = [meta.digest for meta in both.facts.metas]
    length = len(run.entries)
    if length <= run.base_upto:
        return None
    upto, through = rng.randrange(run.base_upto + 1, length + 1), 0
    if rng.random() < 0.5:
        upto = max(upto, length - 1)
    if rng.random() < 0.25 and run.job.base is None:
        upto, through = run.base_upto, upto
    prefix = chain_of(run.entries)[through or upto]
    if rng.random() < 0.03:
        prefix = "f" * 40
    run.announced = Announcement(upto, prefix, through)
    return both.beat(run.job.jid, run.job.fence, run.announced)


def store(both: Both, run: Run, rng: Random, *, floor: bool) -> Answer:
    """The worker hands in what it made; now and then something too large, or cut elsewhere than announced."""
    said = run.announced or Announcement(1, "e" * 40)
    upto = said.upto + (1 if rng.random() < 0.03 else 0)
    cid = f"c{run.job.jid}.{run.job.fence}{'f' if floor else ''}"
    tag = candidate_tag(
        cid,
        upto,
        said.prefix,
        through=said.through,
        kind="clearing" if said.through else "summary",
        tokens_after=200 if rng.random() < 0.05 else 20,
    )
    return both.put(run.job.jid, run.job.fence, tag, run.source(), floor=floor)
