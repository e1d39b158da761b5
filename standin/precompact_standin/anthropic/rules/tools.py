"""A5 to A8 and A17: calls and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from precompact_standin.anthropic.request import Request, Turn, of_type
from precompact_standin.refusal import Refusal, broken

_NOBODY = Turn("", (), 0)


def answered(request: Request) -> Iterator[Refusal]:
    """A5: the calls of a turn are all answered by the user turn right behind."""
    for turn, behind in zip(request.turns, [*request.turns[1:], None], strict=False):
        calls = _ids(turn, "tool_use", "id") if turn.role == "assistant" else []
        results = _ids(behind, "tool_result", "tool_use_id") if behind and behind.role == "user" else []
        missing = [call for call in calls if call not in results]
        if missing and not (behind is None and request.compacts):
            yield broken(
                "A5",
                f"messages.{turn.at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message.",
            )


def belonging(request: Request) -> Iterator[Refusal]:
    """A6: a result belongs to a call of the turn right in front."""
    for before, turn in zip([_NOBODY, *request.turns], request.turns, strict=False):
        calls = _ids(before, "tool_use", "id") if before.role == "assistant" else []
        for result in _ids(turn, "tool_result", "tool_use_id"):
            if result not in calls:
                yield broken(
                    "A6",
                    f"messages.{turn.at}: unexpected `tool_use_id` found in `tool_result` blocks: {result}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
                )


def in_front(request: Request) -> Iterator[Refusal]:
    """A7: results stand before everything else of their turn."""
    for turn in request.turns:
        kinds = [block["type"] == "tool_result" for block in turn.blocks]
        if turn.role == "user" and True in kinds and False in kinds[: len(kinds) - kinds[::-1].index(True)]:
            yield broken("A7", f"messages.{turn.at}: `tool_result` blocks must come first in the message")


def unique(request: Request) -> Iterator[Refusal]:
    """A8: ids of calls are unique, and each has one result."""
    calls = Counter(call for turn in request.turns for call in _ids(turn, "tool_use", "id"))
    for call in (call for call, times in calls.items() if times > 1):
        yield broken("A8", f"messages: `tool_use` ids must be unique ({call})")
    for turn in request.turns:
        results = Counter(_ids(turn, "tool_result", "tool_use_id"))
        for result in (result for result, times in results.items() if times > 1):
            yield broken("A8", f"messages.{turn.at}: each tool_use must have a single result ({result})")


def server_side(request: Request) -> Iterator[Refusal]:
    """A17: a server tool's result has its call before it in the same turn, and a call its result unless paused at the end."""
    for turn in request.turns:
        if turn.role != "assistant":
            continue
        open_calls: list[str] = []
        for block in turn.blocks:
            if block["type"] in {"server_tool_use", "mcp_tool_use"}:
                open_calls.append(block["id"])
            elif block["type"] != "tool_result" and "tool_use_id" in block:
                if block["tool_use_id"] not in open_calls:
                    yield broken(
                        "A17", f"messages.{turn.at}: {block['type']} without its `server_tool_use` before it"
                    )
                else:
                    open_calls.remove(block["tool_use_id"])
        if open_calls and turn is not request.turns[-1]:
            yield broken("A17", f"messages.{turn.at}: `server_tool_use` without its result: {open_calls[0]}")


def _ids(turn: Turn, kind: str, field: str) -> list[str]:
    return [block[field] for block in of_type(turn.blocks, kind)]
