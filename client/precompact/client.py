"""The blocking client: `Client` for a service, `Session` for one conversation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, cast

import httpx

from precompact import clock
from precompact._protocol import Adopt, Protocol, as_list
from precompact.context import Compacted, Context, Format, Recalled
from precompact.face import Face, headers, uses_proxies
from precompact.record import Record
from precompact.steps import NoReply, Pause, Reply, Request, Retry, Steps

T = TypeVar("T")


class Client:
    """A connection to the service at `base_url` with one tenant's `key`; may be shared between threads.

    `tenant` picks one with a platform key. A call that gets no answer within `timeout_s` is tried again as
    `retry` says. `unreachable="continue"`: while the service is away `prepare` answers with the session's own
    list; `"raise"`: it raises ServiceUnreachableError, as every other call does.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        tenant: str | None = None,
        timeout_s: float = 10.0,
        retry: Retry | None = None,
        unreachable: Literal["continue", "raise"] = "continue",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(
            base_url=base_url,
            headers=headers(key, tenant),
            transport=transport,
            trust_env=uses_proxies(base_url),
        )
        self._timeout_s = timeout_s
        self._retry = retry or Retry()
        self._carry_on = unreachable == "continue"

    def session(
        self,
        session_id: str,
        *,
        format: Format | str,  # noqa: A002 - the word of the wire
        model: str | None = None,
        window: int | None = None,
        max_output: int | None = None,
    ) -> Session:
        """The session with your own id, empty on this side; nothing is sent yet.

        `window` and `max_output` are in tokens; either `model` or `window` must be known to the service. To go on
        with a session another process began, call `reload()` on it first.
        """
        return self._open(Record(session_id, Format(format), model, window, max_output))

    def _open(self, record: Record) -> Session:
        return Session(self, Protocol(record, self._retry, carry_on=self._carry_on))

    def run(self, steps: Steps[T]) -> T:
        """Do the I/O of `steps`, one after the other, and return their result."""
        answer: Reply | NoReply | None = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                return cast("T", done.value)
            answer = self._take(step)

    def _take(self, step: Request | Pause) -> Reply | NoReply | None:
        if isinstance(step, Pause):
            clock.pause(step.seconds)
            return None
        try:
            got = self._http.request(
                step.method,
                step.path,
                content=step.body,
                headers=step.headers,
                params=step.params,
                timeout=self._timeout_s + step.wait_s,
            )
        except httpx.RequestError as error:
            return NoReply(type(error).__name__)
        return Reply(got.status_code, got.headers, got.content)

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Session(Face):
    """One conversation: its own full list, and what the service says the model should see of it.

    Not for use by several threads at once. Every call but `append`, `record` and `record_usage` talks to the
    service and may raise ProblemError or ServiceUnreachableError; `prepare` does not raise the latter
    unless the client was told to.
    """

    def __init__(self, client: Client, protocol: Protocol) -> None:
        super().__init__(protocol)
        self._client = client

    def prepare(
        self,
        messages: Iterable[Any] | Mapping[str, Any] = (),
        *,
        usage: Any = None,
        wait: float = 0,
        overflow: bool = False,
        adopt: Adopt = "auto",
        open_calls: Mapping[str, Literal["pending", "dead"]] | None = None,
    ) -> Context:
        """The context for the next model call, with `messages` appended first.

        Call it before every model call. `usage` is the last reply's, as its SDK gives it (see `record_usage`).
        `wait`: seconds this call may be blocked on a running compaction when the context would not fit.
        `overflow`: the provider refused the last context as too long. `adopt="offer"` names a candidate instead
        of adopting it. `open_calls`: calls whose result is `pending` or will never come (`dead`).
        """
        started_s = clock.monotonic_s()
        self.append(as_list(messages))
        self.record_usage(usage)
        context = self._client.run(
            self._protocol.prepare(wait_s=wait, overflow=overflow, adopt=adopt, open_calls=open_calls)
        )
        return dataclasses.replace(context, elapsed_s=clock.monotonic_s() - started_s)

    def flush(self) -> None:
        """Deliver what is not with the service yet, without asking for a context."""
        self._client.run(self._protocol.flush())

    def rewind(self, to: int) -> None:
        """Remove the entries from position `to` on. Nothing is changed if it raises; call it again."""
        self._client.run(self._protocol.rewind(to))

    def reload(self) -> None:
        """Replace the own list by the service's history: after another writer, or in a new process."""
        self._client.run(self._protocol.reload())

    def fork(self, session_id: str, to: int | None = None) -> Session:
        """A copy of this session up to `to` (default: all) under a new id."""
        return self._client._open(self._client.run(self._protocol.fork(session_id, to)))  # noqa: SLF001

    def compact(self, focus: str | None = None, wait: float = 0) -> Compacted:
        """Ask for a compaction now, stressing `focus`; blocks up to `wait` seconds for its candidate."""
        return self._client.run(self._protocol.compact(focus, wait))

    def adopt(self, candidate: str | None = None) -> Context:
        """Adopt a prepared compaction now; CandidateRefusedError says why not."""
        return self._client.run(self._protocol.adopt(candidate))

    def decline(self, candidate: str | None = None) -> None:
        """Refuse a candidate for good: the given one, or the one the last context offered."""
        self._client.run(self._protocol.decline(candidate))

    def revert(self, generation: int) -> None:
        """Take the newest checkpoint (number `generation`) back; the next `prepare` states what holds then."""
        self._client.run(self._protocol.revert(generation))

    def history(
        self,
        start: int | None = None,
        to: int | None = None,
        *,
        grep: str | None = None,
        max_tokens: int | None = None,
    ) -> list[Recalled]:
        """Entries of `[start, to)` as they were sent, compacted or not; `grep` keeps those that hold it."""
        asked = {"from": start, "to": to, "grep": grep, "max_tokens": max_tokens}
        return self._client.run(self._protocol.history(asked))

    def delete(self) -> None:
        """Delete the session and everything the service holds of it. The id cannot be used again."""
        self._client.run(self._protocol.delete())
