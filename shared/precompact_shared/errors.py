"""One tree of errors, in families by what the caller does next.

A class docstring is the default message and says what to do. Facts (ids, sizes, versions) are attributes and are
printed after the message. Neither ever holds conversation text, keys or header values.
"""

from __future__ import annotations

import inspect
from typing import ClassVar

Fact = str | int | float | None
"""What may stand in an error: ids, counts, units. Never text of a conversation."""


class PrecompactError(Exception):
    """Something failed that has no name of its own; look for the same ids in the log."""

    code: ClassVar[str] = "internal"
    """Stable: callers and dashboards match on it."""

    def __init__(self, message: str | None = None, **facts: Fact) -> None:
        self.message = message or inspect.cleandoc(type(self).__doc__ or PrecompactError.__doc__ or "")
        self.facts = facts
        super().__init__(self.message)

    def __str__(self) -> str:
        known = {name: value for name, value in self.facts.items() if value is not None}
        if not known:
            return self.message
        return f"{self.message} ({', '.join(f'{name}={value}' for name, value in known.items())})"


class Retryable(PrecompactError):
    """Failed for a reason that passes; try the same again after `retry_after_s`."""

    code = "retry_later"

    def __init__(self, message: str | None = None, *, retry_after_s: float = 1.0, **facts: Fact) -> None:
        super().__init__(message, **facts)
        self.retry_after_s = retry_after_s


class Unavailable(Retryable):
    """A service this needs does not answer; it is tried again by itself, look at its log if this goes on."""

    code = "unavailable"


class Permanent(PrecompactError):
    """Will fail again however often it is tried; change the input or the policy."""

    code = "permanent"


class Refused(PrecompactError):
    """Refused because of what the caller sent or has not seen; read the code, correct the call and send it again."""

    code = "refused"


class Overflow(PrecompactError):
    """Too large for the model that was asked; give it less or ask one with a larger window."""

    code = "overflow"


class Configuration(PrecompactError):
    """The configuration does not work; correct the setting that is named and start again."""

    code = "configuration"
