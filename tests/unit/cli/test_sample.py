from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from precompact_cli.sample import SESSION
from precompact_cli.sample.write_sample import rendered
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate


@pytest.fixture(scope="module")
def session() -> dict[str, Any]:
    """The sample session as it is shipped."""
    loaded: dict[str, Any] = json.loads(SESSION.read_text(encoding="utf-8"))
    return loaded


def test_the_file_is_what_its_script_writes() -> None:
    """Whoever changes the story writes the file again: `python -m precompact_cli.sample.write_sample`."""
    assert SESSION.read_text(encoding="utf-8") == rendered()


def test_it_is_long_enough_for_several_compactions(session: dict[str, Any]) -> None:
    """At least 300 messages; by our own count between 180,000 and 260,000 tokens."""
    assert len(session["messages"]) >= 300
    tokens = sum(
        count_message(Format.ANTHROPIC, message, session["model"]) for message in session["messages"]
    )
    assert 180_000 <= tokens <= 260_000


def test_a_provider_would_take_every_prompt_of_it(session: dict[str, Any]) -> None:
    """At each model call, not only at the end."""
    for call in session["usage"]:
        assert validate(Format.ANTHROPIC, session["messages"][: call["prefix"]]) == ()
    assert validate(Format.ANTHROPIC, session["messages"]) == ()


def test_every_reply_is_one_model_call_with_a_growing_prompt(session: dict[str, Any]) -> None:
    """Parts add up to the total, and the cache gives back at most what the call before has left there."""
    replies = [index for index, message in enumerate(session["messages"]) if message["role"] == "assistant"]
    assert [call["produced"] for call in session["usage"]] == [[index] for index in replies]
    assert [call["prefix"] for call in session["usage"]] == replies
    for call in session["usage"]:
        assert call["input"] + call["cache_read"] + call["cache_write"] == call["total_input"]
    for earlier, later in pairwise(session["usage"]):
        assert later["total_input"] > earlier["total_input"] >= later["cache_read"]


def test_time_passes_as_on_a_day_at_work(session: dict[str, Any]) -> None:
    """Never backwards, mostly seconds, with one break of twenty minutes."""
    moments = [datetime.fromisoformat(text) for text in session["timestamps"]]
    gaps = sorted(later - earlier for earlier, later in pairwise(moments))
    assert len(moments) == len(session["messages"])
    assert gaps[0] >= timedelta(0)
    assert gaps[len(gaps) // 2] < timedelta(seconds=15)
    assert timedelta(minutes=20) <= gaps[-1] < timedelta(minutes=21)
    assert gaps[-2] < timedelta(minutes=15)


def test_it_holds_what_makes_real_sessions_hard(session: dict[str, Any]) -> None:
    """Parallel calls, failing tools, an interruption, corrections, wishes that stay."""
    parts = [part for message in session["messages"] for part in message["content"]]
    batches = [
        sum(part["type"] == "tool_use" for part in message["content"]) for message in session["messages"]
    ]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    assert max(batches) >= 4
    assert sum(part.get("is_error", False) for part in parts) >= 8
    assert text.count("[Request interrupted by user for tool use]") == 2
    assert "never touch the payments module" in text
