"""A recording played through the client, call by call, as its agent would have done it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from precompact.client import Session
from precompact.context import Context, Status
from precompact_cli.moments import Event, Happening, Moment, Watcher
from precompact_cli.recording import ModelCall, Recording
from precompact_cli.sender import Books, Statement
from precompact_cli.sizes import Sizes
from precompact_cli.wiretap import Wiretap
from precompact_shared.clock import monotonic_s, sleep_s
from precompact_shared.engine.edits import apply_context, edit_from_json
from precompact_shared.engine.formats import facts
from precompact_shared.engine.pairing import pair_facts
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Message
from precompact_shared.engine.validate import Severity, Violation, validate

Show = Callable[[Moment], None]
COMPACTIONS = frozenset({Status.ADOPTED, Status.WAITED, Status.REDUCED})
PAGE_ENTRIES = 200
"""Entries of the history that are read back at a time."""


@dataclass(frozen=True, slots=True)
class Options:
    """`speed`: session seconds in a real one. `wait_s`: session seconds the agent lets itself be blocked at `hard`."""

    speed: float
    wait_s: float


@dataclass(slots=True)
class Outcome:
    """What a play brought. `stalls_ms` in session time, `prepares_ms` in real time."""

    calls: int = 0
    statuses: list[Status] = field(default_factory=list)
    stalls_ms: list[float] = field(default_factory=list)
    prepares_ms: list[float] = field(default_factory=list)
    violations: list[tuple[int, Violation]] = field(default_factory=list)
    """Call number and breach, for every context that was handed out."""
    tokens_before: int = 0
    """Sizes of the contexts right before compactions, summed."""
    tokens_after: int = 0
    version: int = 0
    entries: int = 0
    books: Books = field(default_factory=Books)

    @property
    def is_valid(self) -> bool:
        """Whether a provider would have taken every context."""
        return not self.violations

    def count(self, status: Status) -> int:
        """How many contexts came about in this way."""
        return self.statuses.count(status)


class Player:
    """Plays one recording in one session; `show` is told after every `prepare`."""

    def __init__(
        self,
        recording: Recording,
        sizes: Sizes,
        *,
        session: Session,
        tap: Wiretap,
        options: Options,
        show: Show,
    ) -> None:
        self._recording = recording
        self._session = session
        self._tap = tap
        self._options = options
        self._show = show
        self._meter = Meter(recording, sizes)
        self._watcher = Watcher()
        self._tokens = 0
        self._stated: Statement | None = None
        self._usage: dict[str, int] | None = None
        self._sent = 0
        self.outcome = Outcome()

    def play(self) -> Outcome:
        """All model calls at the recorded pace, then what came after the last one; then the books are closed."""
        for number, call in enumerate(self._recording.calls, 1):
            self._wait(self._recording.pace.between(self._sent, call.prefix))
            self._call_model(number, call)
        self._session.append(self._take(len(self._recording.messages)))
        self._session.flush()
        self._close()
        return self.outcome

    def _call_model(self, number: int, call: ModelCall) -> None:
        context = self._prepare(call)
        ended_s = monotonic_s()
        broken = self._check(number, context)
        self._tell(number, call, context, broken)
        self._wait(self._recording.pace.between(call.prefix, call.end), since_s=ended_s)
        self._usage = self._meter.usage(call, self._statement(context))
        self._session.append(self._take(call.end))
        self.outcome.calls = number

    def _prepare(self, call: ModelCall) -> Context:
        new = self._take(call.prefix)
        context = self._session.prepare(
            new,
            usage=self._usage,
            wait=self._options.wait_s / self._options.speed,
            open_calls=self._unanswered(call.prefix),
        )
        self.outcome.statuses.append(context.status)
        self.outcome.prepares_ms.append(context.elapsed_s * 1000)
        if context.status is not Status.UNREACHABLE:
            self.outcome.stalls_ms.append(self._tap.blocked_s * self._options.speed * 1000)
        return context

    def _unanswered(self, prefix: int) -> dict[str, Any] | None:
        """Calls that have no result although the model is about to be called: the agent knows they never will."""
        wire, messages = self._recording.format, self._recording.messages[:prefix]
        left = pair_facts(wire, [facts(wire, message) for message in messages]).open
        return {call.id: "dead" for _, call in left} or None

    def _check(self, number: int, context: Context) -> tuple[Violation, ...]:
        statement = self._statement(context)
        if statement is not None:
            self.outcome.books.check_context(statement, context.messages)
        found = validate(self._recording.format, context.messages, open_end_ok=False)
        broken = tuple(one for one in found if one.severity is not Severity.WARNING)
        self.outcome.violations += [(number, one) for one in broken]
        return broken

    def _tell(self, number: int, call: ModelCall, context: Context, broken: Sequence[Violation]) -> None:
        events = list(self._watcher.look(context, tokens_before=self._size_before(call, context)))
        events += [Event(Happening.INVALID, f"rule {one.id} at message {one.index}") for one in broken]
        self._tokens = context.tokens or self._tokens
        moment = Moment(
            session_s=self._recording.pace.between(0, call.prefix),
            total_s=self._recording.pace.total_s,
            call=number,
            calls=len(self._recording.calls),
            length=context.length,
            tokens=self._tokens,
            limit=context.limit or 0,
            hard=context.hard or 0,
            window=context.window or 0,
            prepare_ms=context.elapsed_s * 1000,
            events=tuple(events),
        )
        self._show(moment)

    def _size_before(self, call: ModelCall, context: Context) -> int:
        """What the context would have been without the compaction that was adopted just now."""
        earlier, self._stated = self._stated, self._statement(context) or self._stated
        if context.status not in COMPACTIONS or earlier is None or self._stated is None:
            return self._tokens
        saved = self._meter.tokens(earlier, call.prefix) - self._meter.tokens(self._stated, call.prefix)
        before = (context.tokens or 0) + saved
        self.outcome.tokens_before += before
        self.outcome.tokens_after += context.tokens or 0
        return before

    def _statement(self, context: Context) -> Statement | None:
        return None if context.status is Status.UNREACHABLE else self._tap.statement()

    def _take(self, upto: int) -> list[Message]:
        new = list(self._recording.messages[self._sent : upto])
        self._sent = max(self._sent, upto)
        self.outcome.books.note_sent(new)
        return new

    def _wait(self, session_s: float, since_s: float | None = None) -> None:
        """Lets session time pass; what was done since `since_s` counts as part of it."""
        until_s = (monotonic_s() if since_s is None else since_s) + session_s / self._options.speed
        if (left_s := until_s - monotonic_s()) > 0:
            sleep_s(left_s)

    def _close(self) -> None:
        self.outcome.version = self._session.version
        self.outcome.entries = len(self._recording.messages)
        held: list[tuple[int, Message]] = []
        while True:
            page = self._session.history(len(held), len(held) + PAGE_ENTRIES)
            held += [(entry.seq, entry.message) for entry in page]
            if not page or len(held) >= self.outcome.entries + PAGE_ENTRIES:
                break
        self.outcome.books.check_history(held)


class Meter:
    """What a provider would have reported for a prompt with the context that was handed out."""

    def __init__(self, recording: Recording, sizes: Sizes) -> None:
        self._recording = recording
        self._sizes = sizes
        self._counted: dict[tuple[str | None, int], int] = {}

    def usage(self, call: ModelCall, statement: Statement | None) -> dict[str, int] | None:
        """Usage as the provider's SDK gives it; None where the recording has none."""
        if call.reported is None or statement is None:
            return None
        told = self._sizes.reported(call, self.tokens(statement, call.prefix))
        return {"input_tokens": told or 0, "output_tokens": call.output}

    def tokens(self, statement: Statement, prefix: int) -> int:
        """Estimated tokens of a context over `messages[:prefix]`; only what is new is counted."""
        upto = self._sizes.upto
        edited: set[int] = {
            edit["seq"] for edit in statement.edits if statement.keep_from <= edit["seq"] < prefix
        }
        insert = self._count((statement.checkpoint, -1), statement.insert)
        changed = sum(self._edited(statement, seq) - self._sizes.tokens[seq] for seq in edited)
        return insert + upto[prefix] - upto[statement.keep_from] + changed

    def _edited(self, statement: Statement, seq: int) -> int:
        key = (statement.checkpoint, seq)
        if key not in self._counted:
            edits = [edit_from_json({**edit, "seq": 0}) for edit in statement.edits if edit["seq"] == seq]
            self._count(key, apply_context([self._recording.messages[seq]], (), 0, edits))
        return self._counted[key]

    def _count(self, key: tuple[str | None, int], messages: Sequence[Message]) -> int:
        if key not in self._counted:
            wire, model = self._recording.format, self._recording.model
            self._counted[key] = sum(count_message(wire, message, model) for message in messages)
        return self._counted[key]
