"""Which rules are asked: every rule can be switched off, by id or by severity."""

from __future__ import annotations

from dataclasses import dataclass, replace

from precompact_shared.engine.validate.check import Check, Severity

NO_MESSAGE = "F0"
"""Id of what is no message of the format at all; cannot be switched off, since nothing can be said behind it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A choice of rules: all but those `off`, or `only` some, of these severities."""

    off: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    severities: frozenset[Severity] = frozenset(Severity)

    def without(self, *ids: str) -> Rules:
        """The same choice, less these ids."""
        return replace(self, off=self.off | set(ids))

    def narrowed(self, *ids: str) -> Rules:
        """Of this choice, these ids alone."""
        return replace(self, only=frozenset(ids) if self.only is None else self.only & set(ids))

    def include(self, check: Check) -> bool:
        """Whether the check is asked."""
        wanted = self.only is None or check.id in self.only
        return wanted and check.id not in self.off and check.severity in self.severities


ALL = Rules()
ERRORS = Rules(severities=frozenset({Severity.ERROR}))
"""What makes a provider refuse, and nothing else."""
