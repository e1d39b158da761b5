"""Anthropic's SDK against the stand-in: replies as JSON and as streams, and the headers they depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic import BadRequestError

from precompact_standin import Reply, Step, ToolCall
from precompact_standin.scenario import ModelRow
from tests.support.standin import Served

MODEL = "claude-opus-5-5"
ASK: list[Any] = [{"role": "user", "content": "Rename the module."}]


def test_a_reply_has_text_and_usage(claude: Any) -> None:
    """The smallest request of all, under strict validation."""
    reply = claude.messages.create(model=MODEL, max_tokens=100, messages=ASK)
    assert reply.content[0].type == "text"
    assert reply.stop_reason == "end_turn"
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0
    assert reply._request_id is not None


def test_a_stream_says_what_the_json_body_says(claude: Any) -> None:
    """Thinking with its signature too."""
    wanted: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 5_000,
        "thinking": {"type": "adaptive"},
        "messages": ASK,
    }
    whole = claude.messages.create(**wanted)
    with claude.messages.stream(**wanted) as stream:
        streamed = stream.get_final_message()
    assert [block.to_dict(exclude_unset=True) for block in streamed.content] == [
        block.to_dict() for block in whole.content
    ]
    assert streamed.stop_reason == whole.stop_reason
    assert streamed.usage.output_tokens == whole.usage.output_tokens


async def test_the_asynchronous_client_reads_both(async_claude: Any) -> None:
    """JSON and stream."""
    whole = await async_claude.messages.create(model=MODEL, max_tokens=100, messages=ASK)
    async with async_claude.messages.stream(model=MODEL, max_tokens=100, messages=ASK) as stream:
        assert (await stream.get_final_message()).content[0].to_dict()["text"] == whole.content[0].to_dict()[
            "text"
        ]


@pytest.mark.parametrize("stream", [False, True])
def test_a_scripted_call_comes_with_its_input(claude: Any, play: Callable[..., Served], stream: bool) -> None:
    """And the conversation goes on with its result."""
    call = ToolCall(name="read_file", input={"path": "src/app.py", "lines": [1, 80]})
    play(script=(Step(reply=Reply(text="I look.", calls=(call,))), Step(reply=Reply(text="Seen."))))
    tools: list[Any] = [{"name": "read_file", "input_schema": {"type": "object"}}]
    wanted: dict[str, Any] = {"model": MODEL, "max_tokens": 500, "tools": tools}
    if stream:
        with claude.messages.stream(messages=ASK, **wanted) as events:
            reply: Any = events.get_final_message()
    else:
        reply = claude.messages.create(messages=ASK, **wanted)
    assert reply.stop_reason == "tool_use"
    made = reply.content[1]
    assert (made.name, made.input) == ("read_file", {"path": "src/app.py", "lines": [1, 80]})
    result = {"type": "tool_result", "tool_use_id": made.id, "content": "import os"}
    said = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": made.id, "name": made.name, "input": {}},
    ]
    history: list[Any] = [*ASK, {"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
    assert claude.messages.create(messages=history, **wanted).content[0].to_dict()["text"] == "Seen."


def test_counting_is_what_is_charged(claude: Any) -> None:
    """System and tools included."""
    wanted: dict[str, Any] = {
        "model": MODEL,
        "messages": ASK,
        "system": "Be brief.",
        "tools": [{"name": "t", "input_schema": {"type": "object"}}],
    }
    counted = claude.messages.count_tokens(**wanted).input_tokens
    assert counted == claude.messages.create(max_tokens=50, **wanted).usage.input_tokens


def test_newer_models_make_more_tokens_of_the_same_text(claude: Any) -> None:
    """The factor belongs to the model's family."""
    text: list[Any] = [{"role": "user", "content": "word " * 2_000}]
    newer = claude.messages.count_tokens(model="claude-opus-5-5", messages=text).input_tokens
    older = claude.messages.count_tokens(model="claude-opus-4-6", messages=text).input_tokens
    assert newer / older == pytest.approx(1.5 / 1.3, rel=0.01)


def test_a_prompt_above_the_window_is_refused_in_the_known_words(claude: Any) -> None:
    """`prompt is too long: N tokens > M maximum`."""
    text = "word " * 500_000
    with pytest.raises(BadRequestError, match=r"prompt is too long: \d+ tokens > 200000 maximum"):
        claude.messages.create(
            model="claude-haiku-4-5", max_tokens=10, messages=[{"role": "user", "content": text}]
        )


def test_a_reply_is_cut_at_max_tokens(claude: Any) -> None:
    """With the stop reason of a cut reply."""
    reply = claude.messages.create(model=MODEL, max_tokens=5, messages=ASK)
    assert reply.stop_reason == "max_tokens"
    assert reply.usage.output_tokens <= 5


def test_a_reply_is_cut_at_the_windows_end(claude: Any, play: Callable[..., Served]) -> None:
    """Input and output meet the window."""
    play(models={MODEL: ModelRow(window=20)})
    reply = claude.messages.create(
        model=MODEL, max_tokens=1_000, messages=[{"role": "user", "content": "Hi."}]
    )
    assert reply.stop_reason == "model_context_window_exceeded"


def test_more_output_than_the_model_has_is_refused(claude: Any) -> None:
    """The limit is named."""
    with pytest.raises(BadRequestError, match="maximum allowed number of output tokens"):
        claude.messages.create(model=MODEL, max_tokens=200_000, messages=ASK, timeout=30)


def test_a_stop_sequence_ends_the_reply(claude: Any, gpt: Any, play: Callable[..., Served]) -> None:
    """And is named where the protocol has a place for it."""
    play(reply_text="One. Two. Three.")
    reply = claude.messages.create(
        model=MODEL, max_tokens=100, messages=ASK, stop_sequences=["Three", " Two"]
    )
    assert (reply.content[0].text, reply.stop_reason, reply.stop_sequence) == (
        "One.",
        "stop_sequence",
        " Two",
    )
    chat = gpt.chat.completions.create(model="gpt-6-sol", messages=ASK, stop=" Two")
    assert (chat.choices[0].message.content, chat.choices[0].finish_reason) == ("One.", "stop")


def test_max_tokens_of_nothing_says_nothing(claude: Any) -> None:
    """It warms the cache only."""
    reply = claude.messages.create(model=MODEL, max_tokens=0, messages=ASK)
    assert reply.content == []
    assert reply.usage.output_tokens == 0


def test_the_old_version_takes_a_temperature_and_the_new_one_does_not(claude: Any, standin: Served) -> None:
    """The SDK has no parameter for it any more; on the wire it is refused."""
    more = {"temperature": 1.0}
    with pytest.raises(BadRequestError, match="temperature"):
        claude.messages.create(model=MODEL, max_tokens=10, messages=ASK, extra_body=more)
    old = claude.with_options(default_headers={"anthropic-version": "2023-06-01"})
    assert old.messages.create(model=MODEL, max_tokens=10, messages=ASK, extra_body=more).content


@pytest.mark.parametrize("version", ["2024-01-01", "latest"])
def test_unknown_versions_are_refused(claude: Any, version: str) -> None:
    """There are two."""
    with pytest.raises(BadRequestError, match="anthropic-version"):
        claude.messages.create(
            model=MODEL, max_tokens=10, messages=ASK, extra_headers={"anthropic-version": version}
        )


def test_unknown_betas_are_refused(claude: Any) -> None:
    """A misspelt beta is no beta."""
    with pytest.raises(BadRequestError, match="anthropic-beta"):
        claude.beta.messages.create(model=MODEL, max_tokens=10, messages=ASK, betas=["compact-2026-09-05"])


def test_a_summary_follows_the_headings_that_are_asked_for(claude: Any) -> None:
    """In order, each filled, and the same each time."""
    history: list[Any] = [
        {"role": "user", "content": "Fix the login in src/auth/login.py. Never touch the database schema."},
        {"role": "assistant", "content": "The error was `KeyError: token`. I changed src/auth/login.py."},
        {
            "role": "user",
            "content": "Summarise the conversation under these headings.\n\n## Goal\n\n## Files\n\n## Errors",
        },
    ]
    wanted: dict[str, Any] = {"model": MODEL, "max_tokens": 2_000, "messages": history}
    text = claude.messages.create(**wanted).content[0].to_dict()["text"]
    assert [line for line in str(text).splitlines() if line.startswith("#")] == [
        "## Goal",
        "## Files",
        "## Errors",
    ]
    assert "- src/auth/login.py" in str(text)
    assert "KeyError: token" in str(text)
    assert claude.messages.create(**wanted).content[0].to_dict()["text"] == text
