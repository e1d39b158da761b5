"""Random histories: clients, schedulers, workers, sweepers and operators act in any order on one session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from precompact_shared.store.executor import SyncStore
from precompact_shared.store.keys import SessionKeys, ShardKeys
from precompact_shared.store.ops import Announcement, Changes, Create, Limits
from precompact_shared.store.types import Answer, JobKind, Seen, Usage
from tests.property.both import LEASE_MS, Both, Differs, told
from tests.property.drain import drain
from tests.property.forking import fork
from tests.property.invariants import Truth, check
from tests.property.players import Client, Entries, Request, Run, announce, begin, deliver, read, store

FORMATS = ("openai-responses", "anthropic", "openai-chat")


@dataclass
class Play:
    """One random history in the making."""

    both: Both
    rng: Random
    clients: list[Client]
    entries: Entries
    format: str
    truth: Truth = field(default_factory=Truth)
    net: list[Request] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    events: list[Seen] = field(default_factory=list)
    counted: int = 0
    lossy: bool = False
    """Callers may claim to be ahead, as after a failover: then only the twin says what is right."""

    # ------------------------------------------------------------ callers
    def append(self) -> None:
        """Adds entries."""
        client, new = self.rng.choice(self.clients), self.entries.some()
        key: str | None = None
        seen: Seen | None = client.seen
        kind = self.rng.random()
        if kind < 0.12:
            key = self._number("k")
        elif kind < 0.14:
            seen = None
        elif kind < 0.2 and client.entries:
            back = self.rng.randrange(1, min(3, len(client.entries)) + 1)
            new = client.entries[-back:] + new
        pos = (
            len(client.entries) - (len(new) - len([e for e in new if e not in client.entries]))
            if not key
            else None
        )
        create = Create(self.format) if self.rng.random() < 0.5 else None
        changes, limits = self._changes(), Limits(5, 10_000) if self.rng.random() < 0.05 else None
        at = None if key else seen
        pos = None if at is None else pos

        def send() -> Answer:
            return self.both.append(
                new, seen=at, pos=pos, create=create, key=key, changes=changes, limits=limits
            )

        self._request(client, send, [entry.digest for entry in new])

    def sync(self) -> None:
        """Sends a whole list."""
        client = self.rng.choice(self.clients)
        kept = client.entries
        if self.rng.random() < 0.4 and kept:
            kept = kept[: self.rng.randrange(len(kept))]
        new = [*kept, *(self.entries.some(2) if self.rng.random() < 0.8 else [])]
        seen, req, changes = client.seen, self._number("s"), self._changes()
        heal = self.rng.random() < (0.6 if self.lossy else 0.05)
        if self.lossy:
            seen = Seen(seen.version + self.rng.randrange(3), seen.length)
        self._request(
            client,
            lambda: self.both.sync(new, seen=seen, req=req, heal=heal, changes=changes),
            [entry.digest for entry in new],
        )

    def rewind(self) -> None:
        """Removes the end."""
        client = self.rng.choice(self.clients)
        length = len(client.entries)
        to = (
            self.rng.randrange(max(0, length - 4), length + 1)
            if self.rng.random() < 0.7
            else self.rng.randrange(length + 2)
        )
        seen, req = client.seen, self._number("r")
        self._request(client, lambda: self.both.rewind(to, seen=seen, req=req), [])

    def replace(self) -> None:
        """Puts another entry in its place."""
        client = self.rng.choice(self.clients)
        if not client.entries:
            return
        seq = self.rng.randrange(len(client.entries))
        new = client.entries[seq] if self.rng.random() < 0.2 else self.entries.new()
        seen, req = client.seen, self._number("p")
        self._request(client, lambda: self.both.replace(seq, new, seen=seen, req=req), [new.digest])

    def redact(self) -> None:
        """Removes bodies for good."""
        client = self.rng.choice(self.clients)
        if not client.entries:
            return
        seqs = sorted({self.rng.randrange(len(client.entries)) for _ in range(self.rng.randrange(1, 3))})
        seen, req = client.seen, self._number("x")
        self._request(client, lambda: self.both.redact(seqs, seen=seen, req=req), [])

    def late(self) -> None:
        """A delayed or doubled call arrives."""
        if self.net:
            request = self.rng.choice(self.net)
            if self.rng.random() < 0.6:
                self.net.remove(request)
            deliver(self.both, request, self.truth, self.entries, hears=self.rng.random() < 0.5)

    def look(self) -> None:
        """A caller reads."""
        read(self.both, self.rng.choice(self.clients), self.entries)

    def _request(self, client: Client, send: Callable[[], Answer], adds: list[str]) -> None:
        request = Request(client, send, adds, [entry.digest for entry in client.entries])
        fate = self.rng.random()
        if fate < 0.25:
            self.net.append(request)
        if fate > 0.12:
            answer = deliver(self.both, request, self.truth, self.entries, hears=self.rng.random() < 0.85)
            if answer.o != "ok" and self.rng.random() < 0.6:
                read(self.both, client, self.entries)

    def _changes(self) -> Changes | None:
        view = self.both.facts.view
        if self.rng.random() < 0.75 or view is None:
            return Changes(overflow=True) if self.rng.random() < 0.05 else None
        version = max(0, view.version - self.rng.choice((0, 0, 0, 1, 2)))
        length = max(0, view.length - self.rng.choice((0, 0, 1, 3, -2)))
        model = self.rng.choice((None, None, "m1", "m2"))
        usage = Usage(self.rng.choice((0, 50, 500)), version, length, self.rng.choice((None, None, "m1")))
        return Changes(usage=usage, model=model, window=self.rng.choice((None, 1000)))

    # ------------------------------------------------------------ scheduler, worker, sweeper
    def claim(self) -> None:
        """Asks for a job."""
        view = self.both.facts.view
        kind = self.rng.choice(list(JobKind))
        version = self.rng.choice(self.events).version if self.events and self.rng.random() < 0.4 else None
        base = None
        if view and view.candidates and self.rng.random() < 0.5:
            base = self.rng.choice(view.candidates).cid
        elif self.both.facts.tags and self.rng.random() < 0.1:
            base = self.rng.choice(sorted(self.both.facts.tags))
        focus = self.rng.choice((None, "tests")) if kind is JobKind.MANUAL else None
        at = self.rng.choice(self.events) if self.events and kind is JobKind.OVERFLOW else None
        jid = self._number("j")
        urgency = self.rng.randrange(5) * 1000
        self.both.claim(jid, kind, version=version, base=base, focus=focus, overflow_at=at, urgency=urgency)

    def send(self) -> None:
        """A scheduler sends the job."""
        self.both.queued(self._jid())

    def start(self) -> None:
        """Takes the job."""
        run = begin(self.both, self.both.start(self._jid()), slow=self.rng.random() < 0.3)
        if run:
            self.runs.append(run)

    def announce(self) -> None:
        """A worker announces its cut."""
        run = self._run()
        if run:
            answer = announce(self.both, run, self.rng)
            if answer and answer.o != "ok":
                self._leave(run)

    def beat(self) -> None:
        """Renews the lease, may announce the cut."""
        run = self._run()
        if run:
            self.both.beat(run.job.jid, run.job.fence)

    def put(self) -> None:
        """Stores a candidate made from `source`."""
        run = self._run()
        if run and (run.announced or self.rng.random() < 0.1):
            floor = self.rng.random() < 0.35
            store(self.both, run, self.rng, floor=floor)
            if not floor:
                self._leave(run)

    def early(self) -> None:
        """A job for what the current checkpoint covers already."""
        view = self.both.facts.view
        if view and view.job and view.job.state == "running" and view.upto:
            metas = self.both.facts.metas
            said = Announcement(view.upto, metas[view.upto - 1].chain)
            run = Run(view.job, 0, [], [meta.digest for meta in metas], said)
            if self.both.beat(view.job.jid, view.job.fence, said).o == "ok":
                store(self.both, run, self.rng, floor=False)

    def finish(self) -> None:
        """Ends an attempt."""
        run = self._run()
        if run:
            action = self.rng.choice(("retry", "retry", "dead", "skip", "release"))
            self.both.finish(run.job.jid, run.job.fence, action, delay_ms=self.rng.choice((0, 5000)))
            self._leave(run)

    def cancel(self) -> None:
        """Ends a job."""
        self.both.cancel(self._jid())

    def sweep(self) -> None:
        """Time passes; the sweeper looks."""
        if self.rng.random() < 0.5:
            self.both.now_ms += LEASE_MS + 1
        self.both.due(self._jid())

    def job(self) -> None:
        """A job from claim to candidate without anybody in between; half of them end adopted."""
        self.claim()
        if self.both.facts.view and self.both.facts.view.job:
            run = begin(self.both, self.both.start(self.both.facts.view.job.jid), slow=False)
            answer = announce(self.both, run, self.rng) if run else None
            if run and answer and answer.o == "ok":
                if self.rng.random() < 0.3:
                    store(self.both, run, self.rng, floor=True)
                store(self.both, run, self.rng, floor=False)
        if self.rng.random() < 0.5:
            self.adopt()

    def handle(self) -> None:
        """A scheduler has decided."""
        if self.events:
            event = self.rng.choice(self.events[-3:])
            self.both.handled(event.version, event.length)

    # ------------------------------------------------------------ adoption, operators
    def adopt(self) -> None:
        """Adopts a candidate, freezing the text it was stored with."""
        view, rng = self.both.facts.view, self.rng
        known = sorted(self.both.facts.tags)
        if view is None or not known:
            return
        ready = [tag.cid for tag in view.candidates]
        cid = rng.choice(ready) if ready and rng.random() < 0.8 else rng.choice(known)
        stale = (
            rng.choice(self.events)
            if self.events and rng.random() < 0.15
            else Seen(view.version, view.length)
        )
        answer = self.both.adopt(cid, version=stale.version, length=stale.length, forced=rng.random() < 0.3)
        if answer.o == "adopted":
            self.truth.adopt(view.incarnation, view.version)

    def revert(self) -> None:
        """Goes back one checkpoint."""
        chain = self.both.facts.chain
        n = chain[-1].n if chain and self.rng.random() < 0.85 else self.rng.randrange(4)
        self.both.revert(n, req=self._number("v"))

    def close(self) -> None:
        """Discards a candidate."""
        known = sorted(self.both.facts.tags)
        if known:
            self.both.close(self.rng.choice(known))

    def delete(self) -> None:
        """Deletes the session."""
        if self.rng.random() < 0.3:
            self.both.delete()
            self.truth.acked, self.truth.undone = set(), set()

    def create(self) -> None:
        """Makes the session, or revives it."""
        recreate = self.rng.random() < 0.7
        self.both.create(
            self.rng.choice(FORMATS) if self.rng.random() < 0.1 else self.format, recreate=recreate
        )

    # ------------------------------------------------------------ the steps
    def step(self) -> None:
        """One act of somebody, then everything that must hold."""
        weights = WEIGHTS if self.both.facts.view else BEFORE
        act = self.rng.choices(list(weights), list(weights.values()))[0]
        self.both.now_ms += self.rng.choice((0, 10, 500))
        act(self)
        check(self.both, None if self.lossy else self.truth)
        view = self.both.facts.view
        if view:
            self.events.append(Seen(view.version, view.length))

    def _number(self, letter: str) -> str:
        self.counted += 1
        return f"{letter}{self.counted}"

    def _jid(self) -> str:
        view = self.both.facts.view
        if view and view.job and self.rng.random() < 0.85:
            return view.job.jid
        return self.rng.choice(self.both.facts.jobs).jid if self.both.facts.jobs else "j0"

    def _run(self) -> Run | None:
        if not self.runs:
            return None
        return self.runs[-1] if self.rng.random() < 0.75 else self.rng.choice(self.runs)

    def _leave(self, run: Run) -> None:
        if self.rng.random() < 0.7:
            self.runs.remove(run)


WEIGHTS: dict[Callable[[Play], None], float] = {
    Play.append: 22,
    Play.sync: 3,
    Play.rewind: 3.5,
    Play.replace: 1.2,
    Play.redact: 0.8,
    Play.late: 6,
    Play.look: 4,
    Play.claim: 9,
    Play.send: 2,
    Play.start: 10,
    Play.announce: 11,
    Play.beat: 1.5,
    Play.put: 14,
    Play.early: 0.5,
    Play.finish: 1.5,
    Play.cancel: 0.6,
    Play.sweep: 3,
    Play.job: 9,
    Play.handle: 1.5,
    Play.adopt: 14,
    Play.revert: 2.5,
    Play.close: 1,
    Play.delete: 0.8,
    Play.create: 0.4,
}
BEFORE: dict[Callable[[Play], None], float] = {
    Play.append: 4,
    Play.create: 12,
    Play.late: 1.5,
    Play.put: 1,
    Play.sync: 0.5,
    Play.rewind: 0.5,
    Play.claim: 0.5,
    Play.start: 0.5,
    Play.sweep: 0.5,
    Play.adopt: 0.5,
    Play.delete: 0.5,
}


@dataclass
class Tally:
    """How many histories ran, how long they were, what the store answered."""

    histories: int = 0
    steps: int = 0
    drained: int = 0
    answers: Counter[str] = field(default_factory=Counter)


def play_one(
    store: SyncStore, seed: int | Random, tally: Tally, *, steps: int = 28, strict: bool = True
) -> None:
    """One history on a shard of its own, which is removed at the end. Raises Differs with the whole history."""
    rng = seed if isinstance(seed, Random) else Random(seed)
    shard = 100_000 + tally.histories
    keys = SessionKeys(f"t{rng.randrange(1 << 40):x}", "s", ShardKeys(shard))
    both = Both(store, keys, strict=strict)
    play = Play(both, rng, [Client() for _ in range(rng.randrange(1, 4))], Entries(rng), rng.choice(FORMATS))
    play.lossy = rng.random() < 0.08
    try:
        for _ in range(steps):
            play.step()
        if rng.random() < 0.3:
            fork(both, play.entries.made, rng)
        tally.drained += drain(both, None if play.lossy else play.truth)
    except Differs as wrong:
        raise Differs(f"seed {seed}: {wrong}\n{told(both)}") from wrong
    finally:
        tally.histories += 1
        tally.steps += len(both.steps)
        tally.answers.update(_word(step) for step in both.steps)
        _remove(store, both)


def _word(step: str) -> str:
    return f"{step.split('(', maxsplit=1)[0].removeprefix('fork: ')} {step.rpartition(' -> ')[2]}"


def _remove(store: SyncStore, both: Both) -> None:
    store.client.delete(*both.keys.all)
