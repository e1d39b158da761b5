"""Fills sessions straight through the store, for tests of the processes behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from precompact_shared.engine.formats import facts
from precompact_shared.engine.identity import canonical, digest
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Format, Role
from precompact_shared.store import Changes, ClaimSpec, Create, Layout, SessionOps, SyncStore, codec
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.types import Answer, JobKind, JobTag, NewEntry, Seen, SessionView

KEY = b"key of no tenant"
ROLES = {Role.SYSTEM: "s", Role.USER: "u", Role.ASSISTANT: "a", Role.TOOL: "t", Role.OTHER: "o"}


@dataclass(slots=True)
class Filled:
    """One session and what its caller last saw of it."""

    store: SyncStore
    layout: Layout
    tenant: str
    session: str
    format: Format = Format.ANTHROPIC
    window: int | None = 40_000
    max_output: int | None = 4_000
    seen: Seen = field(default_factory=lambda: Seen(0, 0))

    @property
    def keys(self) -> SessionKeys:
        """Its keys."""
        return self.layout.session(self.tenant, self.session)

    @property
    def ops(self) -> SessionOps:
        """Its operations."""
        return SessionOps(self.keys)

    def append(self, messages: Sequence[Any]) -> SessionView:
        """Adds messages at the end; the first ones make the session."""
        entries = [new_entry(self.format, message) for message in messages]
        spec = Create(format=self.format, window=self.window, max_output=self.max_output)
        answer = self.store.run(self.ops.append(entries, seen=self.seen, create=spec, changes=Changes()))
        return self._saw(answer)

    def rewind(self, to: int) -> SessionView:
        """Removes `[to, length)`."""
        return self._saw(self.store.run(self.ops.rewind(to, seen=self.seen, req=f"rewind {to} {self.seen}")))

    def view(self) -> SessionView:
        """The session as it stands; what stands there is seen from now on."""
        return self._saw(self.store.run(self.ops.view()))

    def claim(self, kind: JobKind = JobKind.SPECULATIVE, **spec: Any) -> JobTag:
        """A job of this kind."""
        jid = f"{self.tenant}:{self.session}:{self.seen.version}:{kind}:{self.seen.length:08x}"
        answer = self.store.run(self.ops.claim(None, ClaimSpec(jid=jid, kind=kind, **spec)))
        assert answer.o == "claimed", answer.o
        assert answer.job is not None
        return answer.job

    def _saw(self, answer: Answer) -> SessionView:
        assert answer.view is not None, answer
        self.seen = Seen(answer.view.version, answer.view.length)
        return answer.view


def new_entry(wire: Format, message: Any) -> NewEntry:
    """An entry as the API would make it."""
    known = facts(wire, message)
    whole = {result.id: -1 if result.part is None else result.part for result in known.results}
    return NewEntry(
        digest=digest(canonical(wire, message), KEY),
        tokens=count_message(wire, message, None),
        body=codec.encode(json.dumps(message).encode()),
        role=ROLES[known.role],
        calls=tuple(f"{call.kind}:{call.id}" for call in known.calls),
        results=tuple((f"{result.kind}:{result.id}", whole[result.id]) for result in known.results),
    )
