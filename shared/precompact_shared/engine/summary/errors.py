"""Whether a tool's result reports a failure, and the line that says which."""

from __future__ import annotations

import re

from precompact_shared.engine.catalogue import Tool, ToolKind
from precompact_shared.engine.summary.shorten import one_line
from precompact_shared.engine.summary.voice import is_refusal
from precompact_shared.engine.types import Result

_LONGEST_ERROR = 300
_READ_AT_EACH_END = 10_000
_EDGE = 500
"""Exit codes stand at the edges of an output; in the middle the words are somebody's text."""

_EXIT = re.compile(
    r"^[^\n]{0,60}?\bexit(?:ed)?(?: with)?(?: code| status)?\s*[:=]?\s*([1-9]\d{0,2})\b\W*$|\"exit_code\":\s*([1-9]\d{0,2})\b",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that ends with it, or the field of a JSON result."""
_FRAME = re.compile(
    r"^(?:Output:|Chunk ID:.*|Command:.*|Wall time:?.*|Original token count:.*|\(no output\)|Script (?:completed|failed)"
    r"|.*\bexit(?:ed)?(?: with)?(?: code| status)?\s*[:=]?\s*\d{1,3}\b\W*)$",
    re.MULTILINE | re.IGNORECASE,
)
"""Lines that a tool puts around the output."""
_SEARCHES = re.compile(r"(?:^|[|;&(]\s*)(?:\w+=\S+\s+)*(?:e|f|git )?(?:grep|rg|diff|test|pgrep)\b")
_NAMED = re.compile(
    r"^[ \t]*(?:[\w.]*(?:Error|Exception)\b|error(?:\[\w+\])?:|fatal:|panic:).*", re.MULTILINE
)
_LOOSE = re.compile(
    r"^.*\b(?:error|failed|failure|fatal|panic|cannot|denied|not found|no such)\b.*",
    re.MULTILINE | re.IGNORECASE,
)


def error_of(tool: Tool, command: str | None, result: Result, text: str) -> str:
    """The line that names the failure, or an empty string for a result that reports none.

    A search that finds nothing ends with 1, and a user who declines a call is no failure either.
    """
    code = _exit_code(text) if tool.kind is ToolKind.SHELL else ""
    if not (result.is_error or code) or tool.kind in {ToolKind.PLAN, ToolKind.ASK} or is_refusal(text):
        return ""
    line = _telling_line(_FRAME.sub("", _edges(text)))
    if not line and code == "1" and _SEARCHES.search(command or ""):
        return ""
    return one_line(line or (f"exit code {code}" if code else "failed without a message"), _LONGEST_ERROR)


def _exit_code(text: str) -> str:
    found = _EXIT.search(text[:_EDGE]) or _EXIT.search(text[-_EDGE:])
    return (found.group(1) or found.group(2)) if found else ""


def _edges(text: str) -> str:
    """Beginning and end of a long output; failures are told there."""
    if len(text) <= 2 * _READ_AT_EACH_END:
        return text
    return f"{text[:_READ_AT_EACH_END]}\n{text[-_READ_AT_EACH_END:]}"


def _telling_line(text: str) -> str:
    named = _NAMED.findall(text)
    if named:
        return str(named[-1])
    loose = _LOOSE.search(text)
    if loose:
        return loose.group(0)
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
