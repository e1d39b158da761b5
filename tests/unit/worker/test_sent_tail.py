"""What of the newest entries goes along on the live prefix: all but a batch of calls that still waits."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.types import Entry, Format
from precompact_worker.snapshot import Base, Snapshot
from tests.support.talk import assistant, call, result, user
from tests.unit.worker.test_live import view

REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}


def asked(call_id: str) -> dict[str, Any]:
    """An item that calls a function."""
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": "{}"}


def answered(call_id: str) -> dict[str, Any]:
    """And its output."""
    return {"type": "function_call_output", "call_id": call_id, "output": "done"}


@pytest.mark.parametrize(
    ("wire", "messages", "waiting", "end"),
    [
        (Format.ANTHROPIC, [user("a"), assistant("b"), user("c")], (), 3),
        (Format.ANTHROPIC, [user("a"), call("1"), result("1"), call("2")], (3,), 3),
        (Format.ANTHROPIC, [user("a"), call("1")], (1,), 1),
        (Format.OPENAI_RESPONSES, [user("a"), REASONING, asked("1"), asked("2"), answered("1")], (3,), 1),
        (Format.OPENAI_RESPONSES, [asked("1"), asked("2"), answered("1")], (1,), 0),
    ],
    ids=["nothing waits", "behind a result", "behind a request", "half a batch", "nothing before it"],
)
def test_no_half_of_a_batch_goes_along(
    wire: Format, messages: list[Any], waiting: tuple[int, ...], end: int
) -> None:
    """A call without its result, or reasoning without its call, would be refused."""
    entries = tuple(Entry(seq, message, 10) for seq, message in enumerate(messages))
    snapshot = Snapshot(
        view=view(format=wire, length=len(messages), open=[(seq, "tool:x") for seq in waiting]),
        base=Base(),
        entries=entries,
        chains=("",) * len(entries),
        pinned=(),
        replaced_before=0,
    )
    assert snapshot.sent_tail(0) == entries[:end]
