"""The edit that clears or collapses one result, in the shape its wire format wants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from precompact_shared.engine.clearing.results import ToolResult
from precompact_shared.engine.preset.clearing import ClearingRule, ClearMode
from precompact_shared.engine.shorten import Ends, is_shortened, shorten
from precompact_shared.engine.types import Edit, Format, Message, Result

_PLAIN_NAME = re.compile(r"[\w.:/-]{1,80}")
_PLACEHOLDER = re.compile(r"\[Result of \S+(?: \S+)? cleared to save room: \[r:\d+\] has it whole[^\n]*\]")
_PAYLOADS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "local_shell_call_output": "output",
    "apply_patch_call_output": "output",
    "shell_call_output": "output",
    "program_output": "result",
}
"""Responses items whose result is text. Screenshots, tools that were found and approvals are not: they stay."""

_TEXT_KEYS = ("text", "stdout", "stderr")

Change = Callable[[str], str]


def placeholder(found: ToolResult) -> str:
    """What stands in for a cleared result: whose it was and the address that `recall` reads."""
    name = found.call.name if _PLAIN_NAME.fullmatch(found.call.name) else "a tool"
    again = ", or call it again" if found.tool.refetchable else ""
    return f"[Result of {name} cleared to save room: {address(found)} has it whole{again}]"


def address(found: ToolResult) -> str:
    """Where history holds the result."""
    return f"[r:{found.entry.seq}]"


def is_cleared(text: str) -> bool:
    """Whether `text` is what is left of a cleared or collapsed result."""
    return _PLACEHOLDER.fullmatch(text) is not None or is_shortened(text)


def can_be_replaced(format: Format, found: ToolResult) -> bool:  # noqa: A002 - the word of the design
    """Whether the result is one whose text may be another and the request stays valid."""
    return _payload(format, found.entry.message, found.result) is not None


def texts_of(format: Format, found: ToolResult) -> tuple[str, ...]:  # noqa: A002
    """The texts the result holds."""
    owner_key = _payload(format, found.entry.message, found.result)
    return tuple(_texts(owner_key[0].get(owner_key[1]))) if owner_key is not None else ()


def replace_result(format: Format, found: ToolResult, rule: ClearingRule) -> Edit | None:  # noqa: A002
    """The edit the rule wants for this result; None where nothing would be won."""
    owner_key = _payload(format, found.entry.message, found.result)
    if owner_key is None:
        return None
    owner, key = owner_key
    before = owner.get(key)
    after = _treated(before, found, rule)
    if after is None or after == before:
        return None
    return Edit(found.entry.seq, part=found.result.part, value={**owner, key: after})


def _payload(wire: Format, message: Message, result: Result) -> tuple[Message, str] | None:
    """The object that holds the result and the key of its text, or None where that may not be changed."""
    if wire is Format.OPENAI_RESPONSES:
        key = _PAYLOADS.get(str(message.get("type")))
        return None if key is None else (message, key)
    if wire is Format.OPENAI_CHAT:
        return message, "content"
    part = message["content"][result.part]
    if part.get("type") != "tool_result" or _names_tools(part.get("content")):
        return None
    return part, "content"


def _names_tools(content: Any) -> bool:
    """Tools that a search found are callable only while its result stands."""
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") == "tool_reference" for part in parts)


def _treated(before: Any, found: ToolResult, rule: ClearingRule) -> Any:
    mode, ends = rule.treatment(found.tool.kind)
    if mode is ClearMode.CLEAR:
        return _cleared(before, placeholder(found))
    for one in ends:
        after = _changed(before, _shortening(one, address(found)))
        if after != before:
            return after
    return None


def _shortening(ends: Ends, where: str) -> Change:
    return lambda text: shorten(text, ends, address=where)


def _cleared(before: Any, note: str) -> Any:
    """The note in the place of everything; a list of shell outputs keeps its shape and exit codes."""
    if isinstance(before, list) and before and all(_is_shell_output(one) for one in before):
        first, *others = before
        silent = [{**one, "stdout": "", "stderr": ""} for one in others]
        return [{**first, "stdout": note, "stderr": ""}, *silent]
    return note


def _is_shell_output(value: Any) -> bool:
    return isinstance(value, dict) and "outcome" in value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value if isinstance(value, list) else ():
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            yield from (part[key] for key in _TEXT_KEYS if isinstance(part.get(key), str))


def _changed(value: Any, change: Change) -> Any:
    """The same payload with each of its texts changed; what is not text stays."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_changed_part(part, change) for part in value]
    return value


def _changed_part(part: Any, change: Change) -> Any:
    if isinstance(part, str):
        return change(part)
    if not isinstance(part, dict):
        return part
    texts = {key: change(part[key]) for key in _TEXT_KEYS if isinstance(part.get(key), str)}
    return {**part, **texts}
