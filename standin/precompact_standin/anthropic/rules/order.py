"""A2, A4, A16: who may speak first and last, and where a system message may stand."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_standin.anthropic.request import Request, of_type
from precompact_standin.refusal import Refusal, broken


def first(request: Request) -> Iterator[Refusal]:
    """A2: the user speaks first, unless a compaction block opens the list."""
    opening = request.turns[0]
    leads = bool(opening.blocks) and opening.blocks[0].get("type") == "compaction"
    if opening.role != "user" and not leads:
        yield broken("A2", 'messages: first message must use the "user" role')


def last(request: Request) -> Iterator[Refusal]:
    """A4: from 4.6 on nobody starts the assistant's reply; a compaction may close with a finished turn."""
    if request.compacts or request.model.prefill or request.turns[-1].role != "assistant":
        return
    paused = of_type(request.turns[-1].blocks, "server_tool_use")
    if not paused:
        yield broken(
            "A4",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )


def systems(request: Request) -> Iterator[Refusal]:
    """A16: a system message in mid-conversation follows a user turn, and no compaction block whose thinking is kept."""
    for before, turn in zip([None, *request.turns], request.turns, strict=False):
        if turn.role != "system":
            continue
        if before is None or before.role != "user":
            if not (before and _is_block_alone(before.blocks)):
                yield broken("A16", f"messages.{turn.at}: a system message must follow a user turn")
            elif any(of_type(later.blocks, "thinking", "redacted_thinking") for later in request.turns):
                yield broken(
                    "A16", f"messages.{turn.at}: a system message must not stand right behind the block"
                )


def _is_block_alone(blocks: tuple[dict[str, object], ...]) -> bool:
    return len(blocks) == 1 and blocks[0].get("type") == "compaction"
