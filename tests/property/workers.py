"""What schedulers, workers and sweepers do in a random history."""

from __future__ import annotations

from precompact_shared.store.ops import Announcement
from precompact_shared.store.types import JobKind
from tests.property.both import LEASE_MS
from tests.property.operators import Operators
from tests.property.players import Run, announce, begin, store


class Workers(Operators):
    """Acts on the ledger."""

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

    def wait(self) -> None:
        """Nobody does anything until every lease has run out."""
        self.both.now_ms += LEASE_MS + 1

    def handle(self) -> None:
        """A scheduler has decided."""
        if self.events:
            event = self.rng.choice(self.events[-3:])
            self.both.handled(event.version, event.length)

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
