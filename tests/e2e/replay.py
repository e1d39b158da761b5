"""A recording played through the client as its agent would have done it, with books kept by the sender.

What the books hold against the service is computed here from the sender's own list: nothing of it is taken from what
the service or the client say about themselves, but the statement of the context on the wire.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import httpx
import msgspec

from precompact import Client, Context, Retry, Session, Status
from precompact_shared.engine.edits import apply_context, edit_from_json
from precompact_shared.engine.formats import facts
from precompact_shared.engine.pairing import pair_facts
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Format, Message, Role
from precompact_shared.engine.validate import Severity, validate
from precompact_shared.policy import Policy

WAIT_S = 30.0
"""How long a call at the hard limit lets itself be blocked: the recording is played without its pauses."""
LEAST_WINDOW = 8_000
COMPACTING = frozenset({Status.ADOPTED, Status.WAITED, Status.REDUCED})


@dataclass(frozen=True, slots=True)
class Turn:
    """One model call: it saw `messages[:prefix]`, and with its reply there are `messages[:end]`."""

    prefix: int
    end: int


@dataclass(frozen=True, slots=True)
class Script:
    """A recording with the window it is played in."""

    name: str
    wire: Format
    model: str | None
    messages: list[Message]
    turns: tuple[Turn, ...]
    sizes: tuple[int, ...]
    """Estimated tokens of each message."""

    @property
    def window(self) -> int:
        """So small that a recording fills it about twice, and so large that its largest message fits well."""
        return max(LEAST_WINDOW, sum(self.sizes) * 45 // 100, max(self.sizes) * 5 // 2)

    @property
    def max_output(self) -> int:
        """A tenth of the window."""
        return self.window // 10

    @property
    def policy(self) -> Policy:
        """The default, with a summary that suits the window."""
        return Policy(summary_max_tokens=max(600, self.window // 8))

    @property
    def must_compact(self) -> bool:
        """Whether the whole history, at some model call, is larger than the window can take."""
        hard = self.window - self.max_output - self.window // 50
        return any(sum(self.sizes[: turn.prefix]) > hard for turn in self.turns)


def read_script(content: Mapping[str, Any]) -> Script:
    """The script of a recording: its calls as `usage` tells them, else one for each run of assistant's messages."""
    wire, messages, model = Format(content["format"]), content["messages"], content["model"]
    sizes = tuple(count_message(wire, message, model) for message in messages)
    turns = _reported(content.get("usage") or (), len(messages)) or _spoken(wire, messages)
    return Script(content["name"], wire, model, messages, tuple(turns), sizes)


def _reported(usage: Iterable[Mapping[str, Any]], count: int) -> list[Turn]:
    turns: list[Turn] = []
    for entry in usage:
        prefix, produced = entry["prefix"], entry.get("produced") or ()
        if entry.get("endpoint") or not (turns[-1].end if turns else 1) <= prefix <= count:
            continue  # a counting call, or one that does not continue the list
        turns.append(Turn(prefix, max([prefix, *(index + 1 for index in produced)])))
    return turns


def _spoken(wire: Format, messages: Sequence[Message]) -> list[Turn]:
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        if facts(wire, message).role is not Role.ASSISTANT or index == 0:
            continue
        if turns and turns[-1].end == index:
            turns[-1] = Turn(turns[-1].prefix, index + 1)
        else:
            turns.append(Turn(index, index + 1))
    return turns


class Tap(httpx.BaseTransport):
    """Passes calls on and keeps the last `prepare` answer as it came over the wire."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self._inserts: dict[str | None, list[Message]] = {None: []}
        self.context: dict[str, Any] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One call."""
        response = self._inner.handle_request(request)
        if request.url.path.endswith("/prepare") and response.status_code == 200:
            self.context = json.loads(response.read())["context"]
            if "insert" in self.context:
                self._inserts[self.context["checkpoint"]] = self.context["insert"]
        return response

    @property
    def insert(self) -> list[Message]:
        """The insert of the last statement; one that was left out was told before."""
        return self._inserts[self.context["checkpoint"]]

    def close(self) -> None:
        """Gives the connections back."""
        self._inner.close()


@dataclass(slots=True)
class Played:
    """What came of it. `faults` says what was wrong, by call number; ids and numbers only."""

    script: Script
    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    contexts: int = 0

    @property
    def compactions(self) -> int:
        """How often a compaction took effect."""
        return sum(self.statuses[status] for status in COMPACTING)


def play(script: Script, base_url: str, key: str) -> Played:
    """Plays the whole script in a session named after it."""
    tap = Tap()
    with Client(
        base_url, key, retry=Retry(attempts=5), unreachable="raise", transport=tap, timeout_s=30
    ) as client:
        player = _Player(script, client, tap)
        player.run()
        with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=30) as plain:
            player.check_history(plain)
    return player.played


class _Player:
    def __init__(self, script: Script, client: Client, tap: Tap) -> None:
        self.played = Played(script)
        self._script = script
        self._tap = tap
        self._session = self._open(client)
        self._digests = [digest_of(message) for message in script.messages]
        self._names = {
            id(message): name for message, name in zip(script.messages, self._digests, strict=True)
        }
        self._facts = [facts(script.wire, message) for message in script.messages]
        self._head = sum(1 for _ in takewhile(lambda known: known.role is Role.SYSTEM, self._facts))
        self._sent = 0
        self._boundary: dict[str, int] = {}

    def _open(self, client: Client) -> Session:
        script = self._script
        return client.session(
            script.name,
            format=script.wire,
            model=script.model,
            window=script.window,
            max_output=script.max_output,
        )

    def run(self) -> None:
        """Every model call, then what came behind the last one, with a context once more."""
        usage: dict[str, int] | None = None
        for number, turn in enumerate(self._script.turns, 1):
            dead = self._unanswered(turn.prefix)
            context = self._session.prepare(
                self._take(turn.prefix), usage=usage, wait=WAIT_S, open_calls=dead
            )
            self._check(f"call {number}", context, open_end_ok=False)
            usage = self._usage(context)
            self._session.append(self._take(turn.end))
        rest = self._take(len(self._script.messages))
        context = self._session.prepare(rest, wait=WAIT_S)
        self._check("end", context, open_end_ok=True)

    def _take(self, upto: int) -> list[Message]:
        new = self._script.messages[self._sent : upto]
        self._sent = max(self._sent, upto)
        return new

    def _unanswered(self, prefix: int) -> dict[str, Any] | None:
        """Calls without result although the model is called: their results will never come, and the agent says so."""
        left = pair_facts(self._script.wire, self._facts[:prefix]).open
        return {call.id: "dead" for _, call in left} or None

    def _usage(self, context: Context) -> dict[str, int] | None:
        """What a provider would report that counts as we do."""
        return {"input_tokens": context.tokens, "output_tokens": 1} if context.tokens else None

    # -------------------------------------------------------------------------------------------------- the books
    def _check(self, where: str, context: Context, *, open_end_ok: bool) -> None:
        self.played.contexts += 1
        self.played.statuses[context.status] += 1
        self._check_valid(where, context, open_end_ok=open_end_ok)
        self._check_covered_once(where, context)

    def _check_valid(self, where: str, context: Context, *, open_end_ok: bool) -> None:
        for breach in validate(self._script.wire, context.messages, open_end_ok=open_end_ok):
            if breach.severity is not Severity.WARNING:
                self._fault(
                    where, f"invalid: rule {breach.id} at {breach.index} of {len(context.messages)}", context
                )

    def _check_covered_once(self, where: str, context: Context) -> None:
        """I1: an entry is in the context, or in front of where the checkpoint ends; never both, never neither."""
        stated, own = self._tap.context, self._script.messages[: self._sent]
        keep_from, edits = stated["keep_from"], stated["edits"]
        edited = {edit["seq"] for edit in edits}
        known = self._boundary.setdefault(stated["checkpoint"] or "", keep_from)
        if stated["checkpoint"] is None and keep_from:
            self._fault(where, "entries left out without a checkpoint", context)
        if known != keep_from:
            self._fault(where, f"the checkpoint's reach moved from {known} to {keep_from}", context)
        if any(not keep_from <= seq < self._sent for seq in edited):
            self._fault(where, "an edit of an entry that is not in the context", context)
        self._check_insert(where, context, keep_from)
        expected = apply_context(own, self._tap.insert, keep_from, [edit_from_json(edit) for edit in edits])
        if expected != context.messages:
            self._fault(where, "the context is not what the statement says", context)
            expected = context.messages
        kept = Counter(self._digests[seq] for seq in range(keep_from, self._sent) if seq not in edited)
        found = Counter(map(self._name, expected[len(self._tap.insert) :]))
        if missing := (kept - found).total():
            self._fault(where, f"{missing} entries lost", context)

    def _name(self, message: Message) -> str:
        """The digest of a message; remembered for those of the own list."""
        return self._names.get(id(message)) or digest_of(message)

    def _check_insert(self, where: str, context: Context, keep_from: int) -> None:
        """The insert brings the pinned entries of the head, each once, and no entry that the tail has too."""
        inserted = Counter(map(digest_of, self._tap.insert))
        head = Counter(self._digests[: min(self._head, keep_from)])
        if (head - inserted).total():
            self._fault(where, "a pinned entry is missing from the insert", context)
        tail = set(self._digests[keep_from : self._sent])
        if twice := sum(count for digest, count in (inserted - head).items() if digest in tail):
            self._fault(where, f"{twice} entries both inserted and kept", context)

    def check_history(self, plain: httpx.Client) -> None:
        """The service holds every message once, at its place, byte for byte as it was sent."""
        held: list[tuple[int, bytes]] = []
        length = None
        while length is None or len(held) < length:
            path = f"/v1/sessions/{self._script.name}/history"
            answer = plain.get(path, params={"from": len(held), "to": len(held) + 500})
            page = _page(answer.raise_for_status().content)
            length = page.length
            held += [(entry.seq, bytes(entry.message)) for entry in page.entries]
            if not page.entries:
                break
        sent = list(enumerate(map(as_sent, self._script.messages)))
        if held != sent:
            wrong = sum(one != other for one, other in zip(held, sent, strict=False))
            self.played.faults.append(f"history: {len(held)} of {len(sent)} entries, {wrong} of them differ")

    def _fault(self, where: str, what: str, context: Context) -> None:
        at = f"length {context.length}, keep_from {self._tap.context['keep_from']}, {context.status}"
        self.played.faults.append(f"{where} ({at}): {what}")


class _Entry(msgspec.Struct):
    seq: int
    message: msgspec.Raw


class _Page(msgspec.Struct):
    entries: list[_Entry]
    length: int


_page = msgspec.json.Decoder(_Page).decode


def as_sent(message: Message) -> bytes:
    """The bytes the client sends for a message."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def digest_of(message: Any) -> str:
    """The sender's own name for a message."""
    text = json.dumps(message, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
