"""Why a request is refused, before it is written in the envelope of its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(eq=False)
class Refusal(Exception):
    """The answer is an error: status, the provider's error type, text for people, and its code."""

    message: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    rule: str = ""
    """Id of the validity rule that was broken, or ""; never sent."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message


def broken(rule: str, message: str, *, param: str | None = None, code: str | None = None) -> Refusal:
    """A 400 for the rule of that id."""
    return Refusal(message, rule=rule, param=param, code=code)
