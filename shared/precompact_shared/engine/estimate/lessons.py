"""What a tenant's sessions on one model have in common: where the next one starts."""

from __future__ import annotations

import msgspec

from precompact_shared.engine.estimate.rates import Parts

_HALF_TRUSTED_AT = 2.0
"""Sessions at which lessons weigh as much as the family's constants."""


class Lessons(msgspec.Struct, frozen=True):
    """Means over sessions. Serialisable as it is."""

    sessions: int = 0
    factors: Parts = (1.0, 1.0, 1.0)
    leaves: float = 0.0
    root_reasoning: float = 0.0

    @property
    def trust(self) -> float:
        """From 0 (nothing known) towards 1."""
        return self.sessions / (self.sessions + _HALF_TRUSTED_AT)
