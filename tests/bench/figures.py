"""Numbers of a measurement: quantiles, and the one line a block reports."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one block measured. `ratio` is service / baseline; `ok` is None where the design sets no figure."""

    name: str
    ratio: float | None
    reach: str | None
    ok: bool | None
    n: int
    details: dict[str, Any] = field(default_factory=dict)

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def at_least(name: str, ratio: float, reach: float, n: int, **details: Any) -> Figure:
    """A figure that should not be smaller than `reach`."""
    return Figure(
        name=name, ratio=rounded(ratio), reach=f">= {reach}", ok=ratio >= reach, n=n, details=details
    )


def at_most(name: str, ratio: float, reach: float, n: int, **details: Any) -> Figure:
    """A figure that should not be larger than `reach`."""
    return Figure(
        name=name, ratio=rounded(ratio), reach=f"<= {reach}", ok=ratio <= reach, n=n, details=details
    )


def told(name: str, n: int, **details: Any) -> Figure:
    """Numbers without a figure to reach."""
    return Figure(name=name, ratio=None, reach=None, ok=None, n=n, details=details)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of `values` do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def spread_ms(values_s: Sequence[float]) -> dict[str, float]:
    """Median, 90th and 99th percentile of durations, in milliseconds."""
    return {f"p{share}": rounded(1000 * quantile(values_s, share / 100)) for share in (50, 90, 99)}


def rounded(value: float) -> float:
    """Four significant digits are more than any of these measurements is worth."""
    return float(f"{value:.4g}")
