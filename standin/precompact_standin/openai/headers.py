"""What the headers of a request say, and what those of a reply tell about limits."""

from __future__ import annotations

from collections.abc import Mapping

from precompact_standin.ratelimits import Meter, Reading


def key_of(headers: Mapping[str, str]) -> str:
    """The key a request comes with, or "": a bearer, or Azure's own header."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" and key else headers.get("api-key", "")


def limit_headers(readings: tuple[Reading, ...]) -> dict[str, str]:
    """Limits, what is left of them, and when they are full again, like `6m0s`. Output has no headers here."""
    found: dict[str, str] = {}
    for reading in readings:
        if reading.meter is Meter.OUTPUT:
            continue
        name = "requests" if reading.meter is Meter.REQUESTS else "tokens"
        found[f"x-ratelimit-limit-{name}"] = str(reading.limit)
        found[f"x-ratelimit-remaining-{name}"] = str(reading.remaining)
        found[f"x-ratelimit-reset-{name}"] = span(reading.reset_in_s)
    return found


def span(duration_s: float) -> str:
    """A duration as OpenAI writes it: `120ms`, `1s`, `6m0s`."""
    if duration_s < 1:
        return f"{round(duration_s * 1000)}ms"
    minutes, seconds = divmod(round(duration_s), 60)
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
