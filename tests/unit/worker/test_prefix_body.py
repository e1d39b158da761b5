"""The request on the live prefix: the agent's own, with marks where its cache is read, and the task behind it."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.cache_marks import count_marks
from precompact_shared.engine.tokens import family_factor
from precompact_shared.engine.types import Format
from precompact_worker.providers.compacting import ON_DEMAND, Talk
from precompact_worker.providers.prefix_body import (
    LIMITS_OUTPUT,
    body_of,
    conversation,
    matches_cache,
    params_of,
)
from tests.unit.worker.test_live import MODEL, request

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
RECORD = int(2_000 * family_factor(MODEL))


def system(mark: Any = None) -> list[dict[str, Any]]:
    """The agent's system prompt."""
    text = {"type": "text", "text": "You are careful."}
    return [{**text, "cache_control": mark} if mark else text]


def test_marks_stand_where_the_agents_newest_call_had_its_own_and_at_the_end() -> None:
    """Without the first one all but system prompt and tools would be paid in full."""
    talk = conversation(request(), sends_tail=True)
    body = body_of({"system": system(MARK), "tools": []}, request(), MODEL, talk)
    marked = [at for at, message in enumerate(body["messages"]) if count_marks([message])]
    assert marked == [len(talk.shared) - 1, len(body["messages"]) - 1]
    assert body["system"] == system(MARK)


def test_there_are_never_more_than_four_marks() -> None:
    """Those on tools and system prompt take slots; the callers' own on messages give way to ours."""
    tools = [{"name": str(number), "cache_control": MARK} for number in range(2)]
    old = request().covered[0]
    marked = {**old.message, "content": [{"type": "text", "text": "Go.", "cache_control": MARK}]}
    asked = request(covered=(type(old)(0, marked, 10), *request().covered[1:]))
    body = body_of(
        {"system": system(MARK), "tools": tools}, asked, MODEL, conversation(asked, sends_tail=True)
    )
    assert count_marks(body["messages"]) == 1
    assert count_marks(body["messages"][-1:]) == 1


def test_no_mark_lives_longer_than_those_before_it() -> None:
    """Longer lives come first, by the provider's rule; ours are of five minutes."""
    body = body_of({"system": system(HOUR)}, request(), MODEL, conversation(request(), sends_tail=True))
    marks = [part["cache_control"]["ttl"] for message in body["messages"][-1:] for part in message["content"]]
    assert marks == ["5m"]


ADAPTIVE = {"thinking": {"type": "adaptive"}}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 9_000}}
LARGE_BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 62_000}}


@pytest.mark.parametrize(
    ("wire", "model", "params", "most"),
    [
        (Format.ANTHROPIC, MODEL, {}, RECORD),
        (Format.ANTHROPIC, MODEL, {"max_tokens": 50_000}, RECORD),
        (Format.ANTHROPIC, MODEL, {"thinking": {"type": "disabled"}}, RECORD),
        (Format.ANTHROPIC, MODEL, BUDGET, RECORD + 9_000),
        (Format.ANTHROPIC, MODEL, {**BUDGET, "max_tokens": 10_000}, RECORD + 9_000),
        (Format.ANTHROPIC, MODEL, {**LARGE_BUDGET, "max_tokens": 64_000}, 64_000),
        (Format.ANTHROPIC, MODEL, LARGE_BUDGET, RECORD + 62_000),
        (Format.ANTHROPIC, MODEL, ADAPTIVE, RECORD + 4_096),
        (Format.ANTHROPIC, MODEL, {**ADAPTIVE, "max_tokens": 50_000}, 50_000),
        (Format.OPENAI_RESPONSES, "gpt-4.1", {}, 2_000),
        (Format.OPENAI_RESPONSES, "gpt-6-sol", {}, 2_000 + 4_096),
        (Format.OPENAI_RESPONSES, "gpt-6-sol", {"max_output_tokens": 50_000}, 50_000),
        (Format.OPENAI_RESPONSES, "gpt-6-sol", {"reasoning": {"effort": "none"}}, 2_000),
        (Format.OPENAI_CHAT, "o4-mini", {"max_completion_tokens": 20_000}, 20_000),
    ],
)
def test_a_model_that_thinks_gets_room_for_it(
    wire: Format, model: str, params: dict[str, Any], most: int
) -> None:
    """It counts as output: a record that was cut off by it would be paid for and thrown away."""
    asked = request(format=wire, max_tokens=2_000)
    body = body_of({"params": params}, asked, model, conversation(asked, sends_tail=True))
    [told] = [body[name] for name in LIMITS_OUTPUT if name in body]
    assert told == most


@pytest.mark.parametrize(
    ("params", "most"),
    [
        ({}, 4_096),
        ({**BUDGET, "max_tokens": 10_000}, 4_096 + 9_000),
        ({**LARGE_BUDGET, "max_tokens": 64_000}, 64_000),
    ],
)
def test_a_compaction_on_demand_has_room_for_thinking_and_not_more_than_the_model(
    params: dict[str, Any], most: int
) -> None:
    """The agent's limit was accepted; beyond it the request might be refused."""
    body = ON_DEMAND.body(Talk(model=MODEL, messages=[], max_tokens=2_000, front=params))
    assert body["max_tokens"] == most


def test_a_form_of_the_answer_is_left_out_and_the_effort_kept() -> None:
    """The record has a form of its own; without the agent's its cache is not read."""
    prefix = {"params": {"output_config": {"effort": "low", "format": {"type": "json_schema"}}}}
    assert params_of(prefix) == {"output_config": {"effort": "low"}}
    assert not matches_cache(prefix)
    assert matches_cache({"params": params_of(prefix)})


def test_other_protocols_get_no_marks() -> None:
    """They cache by themselves."""
    asked = request(format=Format.OPENAI_CHAT)
    body = body_of({"tools": []}, asked, "gpt-6-sol", conversation(asked, sends_tail=True))
    assert count_marks(body["messages"]) == 0


def test_the_model_is_told_what_stays() -> None:
    """How many messages, and how they begin; nothing where nothing stays or nothing of it is sent."""
    whole, cut = conversation(request(), sends_tail=True), conversation(request(), sends_tail=False)
    assert 'begins with:\n"And now?"' in whole.said[0]["content"]
    assert "the last 1 messages" in whole.said[0]["content"]
    assert whole.shared[-1]["content"] == "And now?"
    assert "stays in place" not in cut.said[0]["content"]
    assert len(whole.shared) == len(cut.shared) + 1


def test_parameters_that_would_spoil_a_summary_are_left_out() -> None:
    """All others go along; some of those left out take the agent's cache with them."""
    params = {
        "max_tokens": 9,
        "stop_sequences": ["x"],
        "cache_control": MARK,
        "thinking": {"type": "enabled", "budget_tokens": 4_000},
        "tool_choice": {"type": "tool", "name": "a"},
        "metadata": {"user_id": "u"},
    }
    assert params_of({"params": params}).keys() == {"thinking", "metadata"}
    assert not matches_cache({"params": params})
    assert matches_cache({"params": {"stop_sequences": ["x"], "tool_choice": "auto"}})
    body = body_of({"params": params}, request(), MODEL, conversation(request(), sends_tail=True))
    assert body["max_tokens"] == 8_000 * 1.5 + 4_000
