"""A session on both sides, with the few words a story needs: `has`, `make`, `take`. Invariants hold after each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from precompact_shared.store.ops import Announcement, Create
from precompact_shared.store.types import Answer, JobTag, NewEntry, Seen
from tests.property.both import Both
from tests.property.invariants import NO_ENTRIES, check, source_of
from tests.property.making import candidate_tag, made_entry


@dataclass
class Stage(Both):
    """`Both` with a memory of the entries it was given."""

    made: dict[str, NewEntry] = field(default_factory=dict)
    counted: int = 0

    def _play(self, op: Any, pure: Any) -> Answer:
        answer = super()._play(op, pure)
        check(self, None)
        return answer

    def entry(self, text: str | None = None, role: str = "u", **facts: Any) -> NewEntry:
        """An entry; without a text one that never was before."""
        self.counted += 1
        entry = made_entry(text or f"m{self.counted}", role, **facts)
        return self.made.setdefault(entry.digest, entry)

    def entries(self, count: int) -> list[NewEntry]:
        """So many new entries."""
        return [self.entry() for _ in range(count)]

    def has(self, count: int, format: str = "openai-responses") -> Stage:  # noqa: A002 - the word of the design
        """A session with so many entries."""
        self.append(self.entries(count), seen=Seen(0, 0), create=Create(format))
        return self

    def grow(self, count: int = 1) -> Answer:
        """So many entries more, by a caller who has seen all."""
        return self.append(self.entries(count), seen=self.seen)

    def held(self) -> list[NewEntry]:
        """The list as a caller would hold it."""
        return [self.made[meta.digest] for meta in self.facts.metas]

    def texts_held(self) -> list[str]:
        """The texts of the live entries, in order."""
        return [entry.body[1:].decode() for entry in self.held()]

    def prefix(self, upto: int) -> str:
        """Chain digest of `[0, upto)` as it is now."""
        return self.facts.metas[upto - 1].chain if upto else NO_ENTRIES

    def begin(self, jid: str, kind: str = "speculative", **wish: Any) -> JobTag:
        """A job, claimed and started."""
        assert self.claim(jid, kind, **wish).o == "claimed"
        self.queued(jid)
        answer = self.start(jid)
        assert answer.o == "started"
        assert answer.job is not None
        return answer.job

    def say(self, job: JobTag, upto: int, through: int = 0) -> Answer:
        """The job's announcement of its cut."""
        return self.beat(job.jid, job.fence, Announcement(upto, self.prefix(through or upto), through))

    def source(self, upto: int, base: str | None = None) -> list[str]:
        """What a worker makes a text from: the base's source and the entries behind it."""
        key = base or (f"cp:{self.view.checkpoint}" if self.view.checkpoint else "")
        start = self.facts.tags[base].upto if base else self.view.upto
        before = source_of(self.facts.texts.get(key))[:start]
        return before + [meta.digest[:12] for meta in self.facts.metas[start:upto]]

    def store_it(
        self, job: JobTag, upto: int, *, floor: bool = False, through: int = 0, **facts: Any
    ) -> Answer:
        """The job hands in a candidate for the cut; its id is `c-<jid>` or `f-<jid>`."""
        kind = "clearing" if through else "summary"
        tag = candidate_tag(
            f"{'f' if floor else 'c'}-{job.jid}",
            upto,
            self.prefix(through or upto),
            **{"through": through, "kind": kind, **facts},
        )
        base = job.base if job.base and self.facts.tags[job.base].state == "open" else None
        return self.put(job.jid, job.fence, tag, self.source(through or upto, base), floor=floor)

    def make(self, jid: str, upto: int, kind: str = "speculative", *, through: int = 0, **wish: Any) -> str:
        """A candidate by a whole job; returns its id."""
        job = self.begin(jid, kind, **wish)
        assert self.say(job, upto, through).o == "ok"
        assert self.store_it(job, upto, through=through).o == "stored"
        return f"c-{jid}"

    def take(self, cid: str, *, forced: bool = False) -> Answer:
        """Adoption by a caller who has seen all."""
        return self.adopt(cid, version=self.view.version, length=self.view.length, forced=forced)

    def open_ones(self) -> list[str]:
        """Open candidates."""
        return [tag.cid for tag in self.view.candidates]

    def fate(self, cid: str) -> tuple[str, str | None]:
        """State and reason of a candidate."""
        tag = self.facts.tags[cid]
        return tag.state, tag.reason

    def job_of(self, jid: str) -> JobTag:
        """A record of the ledger."""
        return next(job for job in self.facts.jobs if job.jid == jid)


__all__ = ["Stage"]
