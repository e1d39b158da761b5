"""What agents do in a random history: append, send whole lists, rewind, edit; late, twice, or unheard."""

from __future__ import annotations

from collections.abc import Callable

from precompact_shared.store.calibration import start_of
from precompact_shared.store.ops import Changes, Create, Limits
from precompact_shared.store.types import Answer, Seen, SessionView, Usage
from tests.property.players import Client, Request, deliver, read
from tests.property.scene import Scene

MODELS = ("claude-sonnet-4-5", "gpt-5.1")
"""Of two families: one counts reasoning."""


class Callers(Scene):
    """Acts of those who own the conversation."""

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
        (changes, start), limits = self._changes(), Limits(5, 10_000) if self.rng.random() < 0.05 else None
        at = None if key else seen
        pos = None if at is None else pos

        def send() -> Answer:
            return self.both.append(
                new,
                seen=at,
                pos=pos,
                create=create,
                key=key,
                changes=changes,
                limits=limits,
                start=start,
            )

        self._request(client, send, [entry.digest for entry in new])

    def sync(self) -> None:
        """Sends a whole list."""
        client = self.rng.choice(self.clients)
        kept = client.entries
        if self.rng.random() < 0.4 and kept:
            kept = kept[: self.rng.randrange(len(kept))]
        new = [*kept, *(self.entries.some(2) if self.rng.random() < 0.8 else [])]
        seen, req, (changes, start) = client.seen, self._number("s"), self._changes()
        heal = self.rng.random() < (0.6 if self.lossy else 0.05)
        if self.lossy:
            seen = Seen(seen.version + self.rng.randrange(3), seen.length)
        self._request(
            client,
            lambda: self.both.sync(new, seen=seen, req=req, heal=heal, changes=changes, start=start),
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

    def _changes(self) -> tuple[Changes | None, bytes]:
        """What a call says besides entries, and where the calibration of the model that it names begins."""
        view = self.both.facts.view
        if self.rng.random() < 0.6 or view is None:
            return (Changes(overflow=True) if self.rng.random() < 0.05 else None), b""
        model = self.rng.choice((None, None, None, None, *MODELS))
        start = start_of(self.format, model) if model and self.rng.random() < 0.9 else b""
        return Changes(usage=self._usage(view), model=model, window=self.rng.choice((None, 1000))), start

    def _usage(self, view: SessionView) -> Usage:
        """Mostly of what stands there, and near what was foretold; else late, foreign, empty or far off."""
        rng = self.rng
        total = max(0, round(view.tokens * rng.choice((0, 0.7, 0.95, 1, 1.1, 1.5)))) + rng.choice(
            (0, 50, 20_000)
        )
        return Usage(
            total,
            max(0, view.version - rng.choice((0, 0, 0, 0, 1, 2))),
            max(0, view.length - rng.choice((0, 0, 0, 1, 3, -2))),
            rng.choice((None, None, None, MODELS[0])),
            read=total // 2,
            written=rng.choice((0, 7)),
            output=rng.choice((-1, 30, 2_000)),
            reasoned=rng.choice((-1, -1, 0, 400)),
            server=rng.random() < 0.1,
        )
