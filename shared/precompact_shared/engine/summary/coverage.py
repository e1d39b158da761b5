"""How much of what a checkpoint covers its summariser really saw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from precompact_shared.engine.types import Entry


@dataclass(frozen=True, slots=True)
class Coverage:
    """Sizes in tokens of the covered entries and of those among them that were seen."""

    seen_tokens: int
    covered_tokens: int

    @property
    def share(self) -> float:
        """Share of the covered tokens that was seen, 0 to 1; 1 when nothing is covered."""
        return self.seen_tokens / self.covered_tokens if self.covered_tokens else 1.0


def coverage(seen: Iterable[Entry], covered: Iterable[Entry]) -> Coverage:
    """Coverage by `seq`; pinned entries are never covered and do not count."""
    looked_at = {entry.seq for entry in seen}
    known = [entry for entry in covered if not entry.pinned]
    return Coverage(
        seen_tokens=sum(entry.tokens for entry in known if entry.seq in looked_at),
        covered_tokens=sum(entry.tokens for entry in known),
    )
