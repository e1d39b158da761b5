"""What came in, for tests to look at: names, sizes and outcomes, in this process's memory alone. No text, no keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN_HEADERS = (
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "user-agent",
    "x-standin-fault",
    "x-stainless-retry-count",
    "x-stainless-timeout",
)
SHOWN_SCALARS = (
    "model",
    "max_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "stream",
    "store",
    "service_tier",
)


class RequestLog:
    """All requests since the scenario began, oldest first."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def note(self, method: str, path: str, headers: Mapping[str, str], size_bytes: int) -> dict[str, Any]:
        """Add a request; the entry comes back to be filled in as it is served."""
        shown = {name: headers[name] for name in SHOWN_HEADERS if name in headers}
        entry: dict[str, Any] = {"method": method, "path": path, "headers": shown, "bytes": size_bytes}
        self.entries.append(entry)
        return entry


def outline(body: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a body, the values of a few harmless ones, and how long its lists are."""
    return {
        "fields": sorted(body),
        **{name: body[name] for name in SHOWN_SCALARS if name in body},
        "lengths": {name: len(value) for name, value in body.items() if isinstance(value, list)},
    }
