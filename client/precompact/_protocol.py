"""Every call of a session, as steps (see `steps.py`): when to resend, heal, give up. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import quote

from precompact.context import Compacted, Context, Recalled, read_candidate, read_job
from precompact.errors import (
    ProblemError,
    ServiceUnreachableError,
    SessionDeletedError,
    UnexpectedAnswerError,
)
from precompact.record import Delivery, Record, Statement
from precompact.steps import Request, Retry, Steps, ask, encode

Adopt = Literal["auto", "offer", "never"]
UNSETTLED = frozenset({"unseen_end", "history_gap", "history_regressed", "session_not_found"})
RECOVERIES = 3  # repairs tried in one call before its refusal is raised
PARTIAL: Mapping[str, Any] = {"adopt": "never"}  # asked with a part of a long list
PAGE_TOKENS = 100_000  # asked of one page of the history while reloading


class Protocol:
    """The calls of one session. `carry_on`: `prepare` answers with the own list when nobody else answers."""

    def __init__(self, record: Record, retry: Retry, *, carry_on: bool) -> None:
        self.record = record
        self.carry_on = carry_on
        self._retry = retry
        self._was_unreachable = False
        self._doubtful: Request | None = None  # a rewrite that may have happened

    # ------------------------------------------------------------------------------------------- the one call
    def prepare(
        self,
        *,
        wait_s: float,
        overflow: bool,
        adopt: Adopt,
        open_calls: Mapping[str, Literal["pending", "dead"]] | None,
    ) -> Steps[Context]:
        """Deliver what is unsent, take over the stated context and hand it out."""
        options: dict[str, Any] = {
            "adopt": adopt,
            "overflow": overflow,
            "wait": wait_s,
            "open_calls": open_calls,
        }
        asked = {name: value for name, value in options.items() if value and value != "auto"}
        try:
            body = yield from self._deliver(asked, wait_s)
        except ServiceUnreachableError:
            if not self.carry_on:
                raise
            return self.record.hand_out_own()
        return self.record.hand_out(body)

    def flush(self) -> Steps[None]:
        """Deliver what is unsent and adopt nothing; no call when there is nothing to deliver."""
        if len(self.record.messages) > self.record.length:
            yield from self._deliver(PARTIAL)

    def _deliver(self, asked: Mapping[str, Any], wait_s: float = 0.0) -> Steps[dict[str, Any]]:
        """Everything unsent, by `prepare`; long lists in parts, of which the last one asks what is `asked`.

        A refusal that says what is missing is answered with just that. The record takes over each answer.
        """
        record, delivery, repairs = self.record, self.record.unsent(), RECOVERIES
        while True:
            options = asked if delivery.complete else PARTIAL
            request = self._post("prepare", {**record.fixed(), **delivery.body, **options}, wait_s=wait_s)
            request = replace(request, rewrites="heal" in delivery.body)
            record.offered = max(record.offered, delivery.upto)
            try:
                body = yield from self._ask(request)
            except ProblemError as refusal:
                if not repairs:
                    raise
                repairs, delivery = repairs - 1, (yield from self._repair(refusal))
                continue
            self._doubtful = None
            if self._take_over(body) and delivery.complete:
                record.usage = None
                return body
            if delivery.complete:  # an insert is missing that we do not hold: ask without claiming that we do
                if not repairs:
                    raise UnexpectedAnswerError("the service left out an insert this session does not hold")
                repairs -= 1
            delivery = record.unsent()

    def _take_over(self, body: Mapping[str, Any]) -> bool:
        """Whether the stated context can be applied; without it the record holds none."""
        self.record.absorb(body)
        if self.record.holds(body["context"]):
            self.record.state(body["context"])
            return True
        self.record.stated = Statement()
        return False

    def _repair(self, refusal: ProblemError) -> Steps[Delivery]:
        """The entries to send after a refusal that only says what the service lacks; else the refusal itself."""
        record, facts = self.record, refusal.facts
        match refusal.code:
            case "history_gap":
                record.length = min(int(facts["length"]), len(record.messages))
                record.version = int(facts.get("history_version", record.version))
                return record.unsent()
            case "history_regressed":
                return record.whole()
            case "history_diverged" if int(facts["length"]) <= int(facts["common"]) <= len(record.messages):
                record.length, record.version = int(facts["common"]), int(facts["history_version"])
                return record.unsent()
            case "history_rewritten" if self._doubtful is not None:
                # It was our own rewind or heal, whose answer got lost. The same request gets the same answer.
                body = yield from self._ask(self._doubtful)
                record.version, record.length = int(body["history_version"]), int(body["length"])
                return record.unsent()
            case _:
                raise refusal

    # ------------------------------------------------------------------------------------------ changing history
    def rewind(self, to: int) -> Steps[None]:
        """Remove the entries from `to` on, here and there; those that never left us only here."""
        record = self.record
        if not 0 <= to <= len(record.messages):
            raise ValueError(f"to must be between 0 and {len(record.messages)}")
        if to < max(record.length, record.offered):
            if record.offered > record.length or self._doubtful not in (None, self._rewinding(to)):
                yield from self._deliver(PARTIAL)  # finds out what became of the call without an answer
            body = yield from self._settled(lambda: self._rewinding(to))
            record.version = int(body["history_version"])
        record.cut_off(to)

    def _rewinding(self, to: int) -> Request:
        return replace(self._post("rewind", {"seen": self.record.seen, "to": to}), rewrites=True)

    def reload(self) -> Steps[None]:
        """Replace the own list by the service's history."""
        record, messages, start, version = self.record, list[Any](), 0, None
        while start is not None:
            page = yield from self._ask(self._get("history", {"from": start, "max_tokens": PAGE_TOKENS}))
            if version not in {None, page["history_version"]}:
                messages, start, version = [], 0, None  # rewritten while we read
                continue
            messages += [entry["message"] for entry in page["entries"]]
            start, version = page["next"], page["history_version"]
        if len(messages) != int(page["length"]):
            raise UnexpectedAnswerError("the history has holes: some entries could not be read")
        record.messages, record.pinned, record.usage = messages, set(), None
        record.version, record.length = int(page["history_version"]), len(messages)
        record.stated, record.candidate, record.prompt = Statement(), None, (0, 0)

    def fork(self, session_id: str, to: int | None) -> Steps[Record]:
        """A copy of the session up to `to` under another id."""
        yield from self.flush()
        asked = {"id": session_id} if to is None else {"id": session_id, "to": to}
        body = yield from self._settled(lambda: self._post("fork", asked))
        old, length = self.record, int(body["length"])
        copy = Record(session_id, old.wire, old.model, old.window, old.max_output)
        copy.messages = old.messages[:length]
        copy.pinned = {seq for seq in old.pinned if seq < length}
        copy.absorb(body)
        return copy

    def delete(self) -> Steps[None]:
        """Delete the session with everything it holds at the service."""
        try:
            yield from self._ask(Request("DELETE", self._path()))
        except SessionDeletedError:
            return  # by an attempt whose answer got lost, or by somebody else: gone is gone

    # ------------------------------------------------------------------------------------------------ compaction
    def compact(self, focus: str | None, wait_s: float) -> Steps[Compacted]:
        """Ask for a compaction now."""
        yield from self.flush()
        headers = {"Prefer": f"wait={int(wait_s)}"} if wait_s else {}
        asked = {"focus": focus} if focus else {}
        body = yield from self._settled(lambda: self._post("compact", asked, headers, wait_s))
        return Compacted(read_job(body.get("job")), read_candidate(body.get("candidate")))

    def adopt(self, candidate: str | None) -> Steps[Context]:
        """Adopt a prepared compaction now."""
        yield from self.flush()
        asked = {"candidate": candidate} if candidate else {}
        body = yield from self._settled(lambda: self._post("adopt", asked, {"If-Match": self.record.etag}))
        self.record.absorb(body)
        self.record.state(body["context"])
        return self.record.hand_out(body)

    def decline(self, candidate: str | None) -> Steps[None]:
        """Refuse a prepared compaction for good."""
        declined = candidate or self.record.candidate
        if declined is None:
            raise ValueError("the last context offered no candidate: pass the id of the one to decline")
        yield from self._ask(self._post("decline", {"candidate": declined}))
        self.record.candidate = None

    def revert(self, generation: int) -> Steps[None]:
        """Take the newest checkpoint back."""
        body = yield from self._ask(self._post(f"checkpoints/{generation}/revert", {}))
        self.record.version = int(body["history_version"])
        self.record.stated = Statement()  # until the next prepare states what projects now
        self.record.usage = None

    def history(self, asked: Mapping[str, str | int | None]) -> Steps[list[Recalled]]:
        """Entries of the history as they were sent."""
        yield from self.flush()
        params = {name: value for name, value in asked.items() if value is not None}
        page = yield from self._settled(lambda: self._get("history", params))
        return [Recalled(int(entry["seq"]), entry["message"]) for entry in page["entries"]]

    # -------------------------------------------------------------------------------------------------- requests
    def _settled(self, make: Callable[[], Request]) -> Steps[dict[str, Any]]:
        """A call for which both sides must agree; where they do not, what was never confirmed is delivered first.

        `make` is asked for the request each time, since a delivery may change the pair we have seen.
        """
        try:
            return (yield from self._ask(make()))
        except ProblemError as refusal:
            if refusal.code not in UNSETTLED or not self.record.length:
                raise
        yield from self._deliver(PARTIAL)
        return (yield from self._ask(make()))

    def _ask(self, request: Request) -> Steps[dict[str, Any]]:
        """One call; while the service is known to be away, a single attempt must do."""
        retry = Retry(attempts=1) if self._was_unreachable else self._retry
        if request.rewrites:
            self._doubtful = request
        try:
            body = yield from ask(request, retry)
        except ServiceUnreachableError:
            self._was_unreachable = True
            raise
        except ProblemError:
            self._answered(request)
            raise
        self._answered(request)
        return body

    def _answered(self, request: Request) -> None:
        self._was_unreachable = False
        if request == self._doubtful:
            self._doubtful = None

    def _path(self, call: str = "") -> str:
        path = f"/v1/sessions/{quote(self.record.id, safe=':@')}"
        return f"{path}/{call}" if call else path

    def _get(self, call: str, params: Mapping[str, str | int]) -> Request:
        return Request("GET", self._path(call), params=params)

    def _post(
        self,
        call: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        wait_s: float = 0.0,
    ) -> Request:
        return Request("POST", self._path(call), encode(body), headers or {}, wait_s=wait_s)


def as_list(messages: Iterable[Any] | Mapping[str, Any]) -> list[Any]:
    """`messages` as a list; a single message is one."""
    return [messages] if isinstance(messages, Mapping) else list(messages)
