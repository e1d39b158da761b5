"""The wire formats: what a message says, how it reads, and how to write one, the same for each format."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Protocol, cast

from precompact_shared.engine.formats import anthropic, openai_chat, openai_responses
from precompact_shared.engine.formats.reading import InvalidEntry
from precompact_shared.engine.types import Call, Facts, Format, Message, Result

__all__ = [
    "NO_RESULT",
    "InvalidEntry",
    "WireFormat",
    "facts",
    "of",
    "plain_text",
    "result_text",
    "synthetic_result",
    "text_of_user",
    "user_message",
]

NO_RESULT = "no result was recorded for this call"
"""What a synthetic result says."""


class WireFormat(Protocol):
    """What each wire format's module offers."""

    def facts(self, message: Any, /) -> Facts:
        """What one message says; raises `InvalidEntry`."""
        ...

    def plain_text(self, message: Message, /) -> str:
        """The message as a transcript shows it."""
        ...

    def text_of_user(self, message: Message, /) -> str:
        """The user's own text."""
        ...

    def user_message(self, text: str, /) -> Message:
        """A user message that says `text`."""
        ...

    def synthetic_result(self, call: Call, text: str, /) -> Message:
        """A message that answers `call` with `text`."""
        ...

    def result_text(self, message: Message, result: Result, /) -> str:
        """The text of one result."""
        ...

    def one_shape(self, message: dict[str, Any], /) -> dict[str, Any]:
        """The message with equal ways to say the same brought to one."""
        ...


def _module(module: ModuleType) -> WireFormat:
    return cast("WireFormat", module)


_FORMATS: dict[Format, WireFormat] = {
    Format.ANTHROPIC: _module(anthropic),
    Format.OPENAI_CHAT: _module(openai_chat),
    Format.OPENAI_RESPONSES: _module(openai_responses),
}


def of(format: Format) -> WireFormat:  # noqa: A002 - the word of the design
    """The module that speaks `format`."""
    return _FORMATS[format]


def facts(format: Format, message: Any) -> Facts:  # noqa: A002
    """What one message says, without its neighbours; raises `InvalidEntry` for no message of the format.

    Unknown item and part types are accepted; unknown roles are not.
    """
    return _FORMATS[format].facts(message)


def plain_text(format: Format, message: Message) -> str:  # noqa: A002
    """The message as a transcript shows it: text, `[call name(arguments)]`, results, media as `[image]`.

    Thinking and reasoning are left out.
    """
    return _FORMATS[format].plain_text(message)


def text_of_user(format: Format, message: Message) -> str:  # noqa: A002
    """The user's own text in a user message, without results and media; empty for any other message."""
    return _FORMATS[format].text_of_user(message)


def result_text(format: Format, message: Message, result: Result) -> str:  # noqa: A002
    """The text of one result that `facts` found in the message."""
    return _FORMATS[format].result_text(message, result)


def user_message(format: Format, text: str) -> Message:  # noqa: A002
    """A user message that says `text`."""
    return _FORMATS[format].user_message(text)


def synthetic_result(format: Format, call: Call) -> Message:  # noqa: A002
    """A message that answers `call` by saying that no result was recorded."""
    return _FORMATS[format].synthetic_result(call, NO_RESULT)
