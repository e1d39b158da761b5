"""What both kinds of session share: everything that needs no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from precompact._protocol import Protocol, as_list
from precompact.context import Format
from precompact.replies import messages_of, plain, ran_server_tools, usage_of
from precompact.splice import Message, fresh


def headers(key: str, tenant: str | None) -> dict[str, str]:
    """The headers of every request."""
    fixed = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json",
    }
    return fixed if tenant is None else fixed | {"Precompact-Tenant": tenant}


def uses_proxies(base_url: str) -> bool:
    """Whether proxy settings of the machine count: not for a service on this very machine."""
    return (urlsplit(base_url).hostname or "") not in {"localhost", "127.0.0.1", "::1"}


class Face:
    """A session's own list and settings."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._record = protocol.record

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} version={self.version} length={len(self._record.messages)}>"

    @property
    def id(self) -> str:
        """The caller's own id."""
        return self._record.id

    @property
    def format(self) -> Format:
        """The wire format; fixed."""
        return self._record.wire

    @property
    def messages(self) -> list[Message]:
        """A copy of the full history, as appended."""
        return list(map(fresh, self._record.messages))

    @property
    def version(self) -> int:
        """The `history_version` last seen."""
        return self._record.version

    @property
    def confirmed(self) -> int:
        """How many entries are known to be with the service."""
        return self._record.length

    def use_model(self, model: str, *, window: int | None = None, max_output: int | None = None) -> None:
        """Go on with another model of the same format; sizes in tokens. Takes effect with the next `prepare`."""
        self._record.model, self._record.window, self._record.max_output = model, window, max_output
        self._record.usage = None  # another model's count is no measure

    def append(self, messages: Iterable[Any] | Mapping[str, Any], *, pinned: bool = False) -> None:
        """Record messages (mappings or SDK objects, or a single one); they are sent with the next `prepare`.

        `pinned` entries are never covered by a compaction.
        """
        self._record.add(as_list(messages), pinned=pinned)

    def record(self, reply: Any) -> None:
        """Record what the model answered: its messages or items, and its usage.

        `reply` is the SDK's object for Messages, Chat Completions or Responses, or the same as a mapping.
        An empty reply adds no entry.
        """
        body = plain(reply)
        messages, counts = messages_of(self.format, body), usage_of(self.format, body.get("usage"))
        self._record.add(messages, pinned=False)
        if counts and ran_server_tools(self.format, messages):
            counts["server_tools"] = True
        self._record.measure(counts)

    def record_usage(self, usage: Any) -> None:
        """Keep the usage of the reply to the last context, as its SDK reports it, for the next `prepare`.

        Counts that are no measure of the prompt (none, zero) are left out.
        """
        self._record.measure(usage_of(self.format, usage))
