"""What the headers of a request say: key, API version, betas; and what those of a reply tell about limits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from precompact_standin.ratelimits import Reading
from precompact_standin.refusal import Refusal

OLD_VERSION = "2023-06-01"
NEW_VERSION = "2026-10-21"
COMPACT = "compact-2026-09-04"
THRESHOLD = "compact-2026-01-12"
EDITING = "context-management-2025-06-27"
BINDING = "thinking-binding-controls-2026-08-01"
KNOWN_BETAS = frozenset(
    {
        COMPACT,
        THRESHOLD,
        EDITING,
        BINDING,
        "cache-diagnosis-2026-04-07",
        "code-execution-2025-05-22",
        "context-1m-2025-08-07",
        "dev-full-thinking-2025-05-14",
        "extended-cache-ttl-2025-04-11",
        "fast-mode-2026-02-01",
        "files-api-2025-04-14",
        "interleaved-thinking-2025-05-14",
        "mcp-client-2025-11-20",
        "mid-conversation-output-config-2026-07-01",
        "mid-conversation-system-clear-at-2026-08-21",
        "mid-conversation-tool-changes-2026-07-01",
        "model-context-window-exceeded-2025-08-26",
        "output-128k-2025-02-19",
        "output-300k-2026-03-24",
        "prompt-caching-2024-07-31",
        "structured-outputs-2025-11-13",
        "task-budgets-2026-03-13",
        "thinking-token-count-2026-05-13",
        "token-counting-2024-11-01",
        "token-efficient-tools-2025-02-19",
    }
)


def key_of(headers: Mapping[str, str]) -> str:
    """The key a request comes with, or ""."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" and key else headers.get("x-api-key", "")


def version_of(headers: Mapping[str, str]) -> str:
    """The API version asked for. Raises a 400."""
    version = headers.get("anthropic-version", "")
    if version not in {OLD_VERSION, NEW_VERSION}:
        text = f"anthropic-version: {version or 'header'} is " + (
            "not a valid version" if version else "required"
        )
        raise Refusal(text)
    return version


def betas_of(headers: Mapping[str, str]) -> frozenset[str]:
    """The betas asked for. Raises a 400 for one that does not exist."""
    names = [name.strip() for name in headers.get("anthropic-beta", "").split(",") if name.strip()]
    for name in names:
        if name not in KNOWN_BETAS:
            raise Refusal(f"Unexpected value(s) `{name}` for the `anthropic-beta` header")
    return frozenset(names)


def limit_headers(readings: tuple[Reading, ...], now_s: float) -> dict[str, str]:
    """Limits, what is left of them, and when they are full again (RFC 3339)."""
    found: dict[str, str] = {}
    now = datetime.fromtimestamp(now_s, UTC)
    for reading in readings:
        start = f"anthropic-ratelimit-{reading.meter}"
        reset = now + timedelta(seconds=reading.reset_in_s)
        found[f"{start}-limit"] = str(reading.limit)
        found[f"{start}-remaining"] = str(reading.remaining)
        found[f"{start}-reset"] = reset.isoformat(timespec="seconds").replace("+00:00", "Z")
    return found
