"""What a session remembers: its own list, the pair it has seen, the context it holds. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from precompact.context import Context, Format, Status, read_compaction, read_request
from precompact.errors import problem
from precompact.replies import UsageBody, sendable
from precompact.splice import Edit, Message, apply_context, fresh
from precompact.steps import encode

BATCH_ENTRIES = 1_000  # the service takes more at a time, but not any number
BATCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Statement:
    """The last context the service stated, in history coordinates."""

    checkpoint: str | None = None
    insert: tuple[Message, ...] = ()
    keep_from: int = 0
    edits: tuple[Edit, ...] = ()

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """What the model sees of `messages`, as a list that shares nothing with them."""
        return list(map(fresh, apply_context(messages, self.insert, self.keep_from, self.edits)))


@dataclass(frozen=True, slots=True)
class Delivery:
    """The part of a body that brings the entries up to `upto`; `complete`: nothing is left for another call."""

    body: Mapping[str, Any]
    upto: int
    complete: bool


@dataclass(slots=True)
class Record:
    """One session as its caller knows it.

    `messages[:length]` are known to be with the service at `version`; the rest goes with the next call.
    """

    id: str
    wire: Format
    model: str | None = None
    window: int | None = None
    max_output: int | None = None
    messages: list[Message] = field(default_factory=list)
    pinned: set[int] = field(default_factory=set)
    version: int = 0
    length: int = 0
    offered: int = 0  # entries that may be with the service: sent, perhaps without an answer
    stated: Statement = Statement()
    candidate: str | None = None
    usage: dict[str, int] | None = None
    prompt: tuple[int, int] = (0, 0)  # version and length of the last context that was handed out

    @property
    def seen(self) -> dict[str, int]:
        """The pair every changing call carries."""
        return {"version": self.version, "length": self.length}

    @property
    def etag(self) -> str:
        """The pair as an HTTP entity tag."""
        return f'"{self.version}-{self.length}"'

    def add(self, messages: Iterable[Any], *, pinned: bool) -> None:
        """Append copies of `messages` (mappings or SDK objects); all of them or, if one is no JSON, none."""
        copies = [sendable(message) for message in messages]
        if pinned:
            self.pinned.update(range(len(self.messages), len(self.messages) + len(copies)))
        self.messages += copies

    def measure(self, counts: UsageBody | None) -> None:
        """Keep the usage of the reply to the last context; a reply without a measure changes nothing."""
        if counts is not None:
            version, length = self.prompt
            self.usage = {**counts, "version": version, "length": length}

    def unsent(self) -> Delivery:
        """What the service does not have yet, or as much of it as one call takes."""
        return self._entries(self.length, {})

    def whole(self) -> Delivery:
        """What heals a service that lost a version: everything we ever had, from its beginning."""
        return self._entries(0, {"view": "history", "heal": True})

    def _entries(self, start: int, more: Mapping[str, Any]) -> Delivery:
        stop = self._end_of_batch(start)
        body: dict[str, Any] = {"seen": self.seen, "messages": self.messages[start:stop], **more}
        if pinned := sorted(seq - start for seq in self.pinned if start <= seq < stop):
            body["pinned"] = pinned
        return Delivery(body, stop, complete=stop == len(self.messages))

    def _end_of_batch(self, start: int) -> int:
        if len(self.messages) - start < 2:
            return len(self.messages)
        size_bytes = 0
        for seq in range(start, min(len(self.messages), start + BATCH_ENTRIES)):
            size_bytes += len(encode(self.messages[seq]))
            if size_bytes > BATCH_BYTES and seq > start:
                return seq
        return min(len(self.messages), start + BATCH_ENTRIES)

    def fixed(self) -> dict[str, Any]:
        """What every `prepare` states about the session: it may be the one that creates it."""
        about: dict[str, Any] = {"format": self.wire.value, "model": self.model, "window": self.window}
        about |= {"max_output": self.max_output, "usage": self.usage, "have": self.stated.checkpoint}
        return {name: value for name, value in about.items() if value is not None}

    def absorb(self, body: Mapping[str, Any]) -> None:
        """Take over the pair an answer carries: what was sent has arrived."""
        self.version, self.length = int(body["history_version"]), int(body["length"])
        self.offered = self.length
        if self.length > len(self.messages):
            detail = "The service holds entries this session never had."
            raise problem(409, {"code": "history_diverged", "detail": detail, "length": self.length})

    def state(self, context: Mapping[str, Any]) -> None:
        """Take over a stated context."""
        checkpoint = context.get("checkpoint")
        insert = context.get("insert")
        if insert is None:
            insert = self.stated.insert if checkpoint == self.stated.checkpoint else ()
        self.stated = Statement(
            checkpoint, tuple(insert), int(context.get("keep_from") or 0), tuple(context.get("edits") or ())
        )

    def holds(self, context: Mapping[str, Any]) -> bool:
        """Whether `context` can be applied: it brings its `insert`, or is the one we have."""
        return "insert" in context or context.get("checkpoint") in {None, self.stated.checkpoint}

    def cut_off(self, to: int) -> None:
        """Forget the entries from `to` on, and a stated context that covered one of them."""
        del self.messages[to:]
        self.pinned = {seq for seq in self.pinned if seq < to}
        self.length, self.offered = min(self.length, to), min(self.offered, to)
        self.usage = None
        if self.stated.keep_from > to:
            self.stated = Statement()
        else:
            edits = tuple(edit for edit in self.stated.edits if edit["seq"] < to)
            self.stated = Statement(self.stated.checkpoint, self.stated.insert, self.stated.keep_from, edits)

    def hand_out(self, body: Mapping[str, Any]) -> Context:
        """The context an answer states, ready to send."""
        stated = body["context"]
        compaction = read_compaction(body.get("compaction") or {})
        self.candidate = compaction.candidate.id if compaction.candidate else None
        self.prompt = (self.version, len(self.messages))
        return Context(
            messages=self.stated.apply(self.messages),
            status=Status(body["status"]),
            version=self.version,
            length=len(self.messages),
            checkpoint=self.stated.checkpoint,
            tokens=stated.get("tokens"),
            window=stated.get("window"),
            limit=stated.get("limit"),
            hard=stated.get("hard"),
            source=stated.get("source"),
            spread=stated.get("spread"),
            compaction=compaction,
            request=read_request(body.get("request") or {}),
        )

    def hand_out_own(self) -> Context:
        """The own list with the last stated context: what there is while the service does not answer."""
        self.prompt = (self.version, len(self.messages))
        return Context(
            messages=self.stated.apply(self.messages),
            status=Status.UNREACHABLE,
            version=self.version,
            length=len(self.messages),
            checkpoint=self.stated.checkpoint,
        )
