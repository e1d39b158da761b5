"""One call to a model that writes: what comes back, and how whatever can go wrong becomes a finding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, TypeVar

from precompact_shared.clock import now_ms
from precompact_worker.book import Call
from precompact_worker.prompting import Ask
from precompact_worker.providers.failures import Garbled, IdleTimeout, facts_of
from precompact_worker.providers.verdicts import Failure, Finding

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Said:
    """The text of a reply, as far as it came, and what it means."""

    text: str
    finding: Finding


class Speaker(Protocol):
    """A model on a server, asked once."""

    @property
    def name(self) -> str:
        """The provider's, as policies name it."""
        ...

    @property
    def model(self) -> str:
        """The model's."""
        ...

    @property
    def place(self) -> str | None:
        """Whose server and key; None where no rate limit of ours can hold."""
        ...

    async def say(self, ask: Ask, call: Call) -> Said:
        """One call. Usage goes into `call` as soon as it is known. Failures are findings; raises nothing of an SDK's."""
        ...


async def guarded(
    work: Callable[[], Awaitable[T]], judge: Callable[[Failure], Finding], *, timeout_s: float
) -> T | Finding:
    """What `work` gives within the time, or what its failure means. Errors that are no provider's doing go through."""
    try:
        async with asyncio.timeout(timeout_s):
            return await work()
    except Exception as error:
        failure = facts_of(error, now_ms() / 1000)
        if failure is None:
            raise
        # The SDK's error ends here: it may quote the request, and some do not pickle.
        return judge(failure)


def heard(stream: Any, idle_s: float, keep: Callable[[bytes], None] | None = None) -> Any:
    """An SDK's stream whose bytes are given to `keep`, and whose reading raises `IdleTimeout` when not a byte comes for so many seconds.

    Bytes and not events: pings and comments, by which a server says that it is still at work, the SDKs keep to themselves.
    """
    read = stream.response.aiter_bytes

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        async with aclosing(read(chunk_size)) as chunks:
            while True:
                try:
                    async with asyncio.timeout(idle_s):
                        chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    raise IdleTimeout from None
                if keep is not None:
                    keep(chunk)
                yield chunk

    stream.response.aiter_bytes = aiter_bytes
    return stream


def shaped(take: Callable[[R, dict[str, Any]], None]) -> Callable[[R, dict[str, Any]], None]:
    """A reader of events that raises `Garbled` for what has another shape than the protocol's."""

    @wraps(take)
    def checked(self: R, event: dict[str, Any]) -> None:
        try:
            take(self, event)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise Garbled from None

    return checked


def named(body: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """A body as an SDK's arguments: what it may not know by name goes into `extra_body`, as it is."""
    known = {name: value for name, value in body.items() if name in names}
    extra = {name: value for name, value in body.items() if name not in names}
    return {**known, "extra_body": {**extra, **known.get("extra_body", {})}} if extra else known


def plain(model: Any) -> dict[str, Any]:
    """An SDK's value as the JSON object that came."""
    if isinstance(model, dict):
        return model
    told = model.to_dict(mode="json", warnings=False)
    return told if isinstance(told, dict) else {}
