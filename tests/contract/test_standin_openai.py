"""OpenAI's SDK against the stand-in: Responses, compaction, chat, as JSON and as streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from openai import APIResponseValidationError, BadRequestError

from precompact_standin import Reply, Step, ToolCall
from precompact_standin.scenario import ModelRow
from tests.support.standin import Served

MODEL = "gpt-6-sol"
TALK: list[Any] = [
    {"role": "user", "content": "Fix src/login.py."},
    {"role": "assistant", "content": "I changed src/login.py."},
]
GO_ON: dict[str, Any] = {"role": "user", "content": "Go on."}
CHAT: list[Any] = [{"role": "user", "content": "Rename the module."}]


def compacted(gpt: Any, given: Any, **more: Any) -> dict[str, Any]:
    """Raw JSON of `/responses/compact`: the SDK's own reading of it is wrong."""
    raw = gpt.responses.with_raw_response.compact(model=MODEL, input=given, **more)
    found: dict[str, Any] = json.loads(raw.http_response.text)
    return found


def test_a_reply_has_text_and_usage(gpt: Any) -> None:
    """Input includes what was cached."""
    reply = gpt.responses.create(model=MODEL, input="Rename the module.")
    assert reply.status == "completed"
    assert reply.output_text
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens


@pytest.mark.parametrize("effort", ["none", "low"])
def test_a_stream_says_what_the_json_body_says(gpt: Any, effort: Any) -> None:
    """Sequence numbers rise by one; the last event is terminal; reasoning and message are whole."""
    events = list(
        gpt.responses.create(model=MODEL, input="Rename it.", stream=True, reasoning={"effort": effort})
    )
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    whole = gpt.responses.create(model=MODEL, input="Rename it.", reasoning={"effort": effort})
    assert last.response.output_text == whole.output_text == deltas
    assert [item.type for item in last.response.output] == [item.type for item in whole.output]
    with gpt.responses.stream(model=MODEL, input="Rename it.", reasoning={"effort": effort}) as stream:
        assert stream.get_final_response().output_text == deltas


async def test_the_asynchronous_client_reads_all(async_gpt: Any) -> None:
    """Responses and chat."""
    reply = await async_gpt.responses.create(model=MODEL, input="Rename it.")
    events = [
        event
        async for event in await async_gpt.responses.create(model=MODEL, input="Rename it.", stream=True)
    ]
    chat = await async_gpt.chat.completions.create(model=MODEL, messages=CHAT)
    assert events[-1].type == "response.completed"
    assert chat.choices[0].message.content == reply.output_text


@pytest.mark.parametrize("stream", [False, True])
def test_a_scripted_call_comes_with_its_arguments(
    gpt: Any, play: Callable[..., Served], stream: bool
) -> None:
    """And goes back with its output, reasoning included."""
    call = ToolCall(name="read_file", input={"path": "src/app.py"})
    play(
        script=(Step(reply=Reply(thinking="I have to look.", calls=(call,))), Step(reply=Reply(text="Seen.")))
    )
    wanted: dict[str, Any] = {"model": MODEL, "store": False}
    if stream:
        *_, last = gpt.responses.create(input=[GO_ON], stream=True, **wanted)
        reply = last.response
    else:
        reply = gpt.responses.create(input=[GO_ON], **wanted)
    reasoning, made = reply.output
    assert json.loads(made.arguments) == {"path": "src/app.py"}
    output = {"type": "function_call_output", "call_id": made.call_id, "output": "import os"}
    history = [GO_ON, reasoning.to_dict(), made.to_dict(), output]
    assert gpt.responses.create(input=history, **wanted).output_text == "Seen."
    with pytest.raises(BadRequestError, match="without its required 'reasoning' item"):
        gpt.responses.create(input=[GO_ON, made.to_dict(), output], **wanted)


def test_a_chain_goes_on_from_what_was_stored(gpt: Any) -> None:
    """And nobody knows another."""
    first = gpt.responses.create(model=MODEL, input=TALK[:1])
    then = gpt.responses.create(model=MODEL, input=[GO_ON], previous_response_id=first.id)
    assert first.usage is not None
    assert then.usage is not None
    assert then.usage.input_tokens > first.usage.input_tokens
    with pytest.raises(BadRequestError) as caught:
        gpt.responses.create(model=MODEL, input=[GO_ON], previous_response_id="resp_unknown")
    assert caught.value.code == "previous_response_not_found"


def test_a_compacted_window_is_the_users_messages_and_one_opaque_item(gpt: Any) -> None:
    """Passed on as it is, it stands for everything."""
    body = compacted(gpt, TALK)
    assert body["object"] == "response.compaction"
    assert [item["type"] for item in body["output"]] == ["message", "compaction"]
    assert "login" not in body["output"][1]["encrypted_content"]
    reply = gpt.responses.create(model=MODEL, input=[*body["output"], GO_ON])
    assert reply.status == "completed"


def test_strict_reading_of_a_compacted_response_fails(gpt: Any) -> None:
    """The SDK takes the kept user messages for the assistant's."""
    with pytest.raises(APIResponseValidationError):
        gpt.responses.compact(model=MODEL, input=TALK)


@pytest.mark.parametrize("change", ["touched", "other organisation", "not ours"])
def test_an_opaque_item_is_verified_when_it_comes_back(gpt: Any, change: str) -> None:
    """Unmodified, and from the same organisation."""
    item = compacted(gpt, TALK)["output"][-1]
    sealed = item["encrypted_content"]
    content = {"touched": "A" + sealed[1:], "other organisation": sealed, "not ours": "gAAAAABh"}[change]
    client = gpt.with_options(api_key="sk-other") if change == "other organisation" else gpt
    with pytest.raises(BadRequestError) as caught:
        client.responses.create(model=MODEL, input=[{**item, "encrypted_content": content}, GO_ON])
    assert caught.value.code == "invalid_encrypted_content"


def test_compacting_takes_no_long_cache(gpt: Any) -> None:
    """30 minutes only; unknown fields neither."""
    with pytest.raises(BadRequestError):
        compacted(gpt, TALK, prompt_cache_options={"ttl": "12h"})
    with pytest.raises(BadRequestError):
        compacted(gpt, TALK, extra_body={"tools": []})


def test_a_trigger_compacts_and_says_so_in_a_stream(gpt: Any) -> None:
    """The output is the item."""
    given = [*TALK, {"type": "compaction_trigger"}]
    whole = gpt.responses.create(model=MODEL, input=given)
    assert [item.type for item in whole.output] == ["compaction"]
    kinds = [event.type for event in gpt.responses.create(model=MODEL, input=given, stream=True)]
    assert kinds[-1] == "response.completed"
    assert "response.compaction.compacting" in kinds
    assert gpt.responses.create(model=MODEL, input=[whole.output[0].to_dict(), GO_ON]).output_text


def test_above_a_threshold_a_reply_brings_a_compaction_item(gpt: Any) -> None:
    """Then what is older may be left out."""
    long: list[Any] = [{"role": "user", "content": "word " * 2_000}, *TALK[1:], GO_ON]
    wanted: dict[str, Any] = {"context_management": [{"type": "compaction", "compact_threshold": 1_000}]}
    reply = gpt.responses.create(model=MODEL, input=long, **wanted)
    assert [item.type for item in reply.output] == ["compaction", "message"]
    short = gpt.responses.create(model=MODEL, input=TALK, **wanted)
    assert [item.type for item in short.output] == ["message"]


def test_counting_is_what_is_charged(gpt: Any) -> None:
    """Instructions and tools included."""
    tool: Any = {"type": "function", "name": "t", "parameters": {}, "strict": None}
    counted = gpt.responses.input_tokens.count(
        model=MODEL, input=TALK, instructions="Be brief.", tools=[tool]
    )
    reply = gpt.responses.create(model=MODEL, input=TALK, instructions="Be brief.", tools=[tool])
    assert reply.usage is not None
    assert counted.input_tokens == reply.usage.input_tokens


def test_a_reply_is_cut_at_its_limit(gpt: Any, play: Callable[..., Served]) -> None:
    """Incomplete, with the reason."""
    play(reply_text="word " * 200)
    reply = gpt.responses.create(model=MODEL, input="Hi.", max_output_tokens=20)
    assert reply.status == "incomplete"
    assert reply.incomplete_details is not None
    assert reply.incomplete_details.reason == "max_output_tokens"
    chat = gpt.chat.completions.create(model=MODEL, messages=CHAT, max_completion_tokens=20)
    assert chat.choices[0].finish_reason == "length"


def test_a_prompt_above_the_window_has_its_code(gpt: Any, play: Callable[..., Served]) -> None:
    """With the parameter that is too long."""
    play(models={MODEL: ModelRow(window=50)})
    with pytest.raises(BadRequestError) as caught:
        gpt.responses.create(model=MODEL, input="word " * 100)
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "input")
    with pytest.raises(BadRequestError) as caught:
        gpt.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "word " * 100}])
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "messages")


@pytest.mark.parametrize("counts", [False, True])
def test_a_chat_stream_tells_usage_only_when_asked(gpt: Any, counts: bool) -> None:
    """In a last chunk without choices."""
    more: dict[str, Any] = {"stream_options": {"include_usage": True}} if counts else {}
    chunks = list(gpt.chat.completions.create(model=MODEL, messages=CHAT, stream=True, **more))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    whole = gpt.chat.completions.create(model=MODEL, messages=CHAT)
    assert text == whole.choices[0].message.content
    assert [chunk.usage is not None for chunk in chunks][-1] is counts
    assert (not chunks[-1].choices) is counts


@pytest.mark.parametrize("stream", [False, True])
def test_chat_calls_tools(gpt: Any, play: Callable[..., Served], stream: bool) -> None:
    """With arguments as text."""
    play(script=(Step(reply=Reply(calls=(ToolCall(name="read", input={"path": "a"}),))),))
    if stream:
        chunks = list(gpt.chat.completions.create(model=MODEL, messages=CHAT, stream=True))
        parts = [part for chunk in chunks for part in chunk.choices[0].delta.tool_calls or []]
        arguments = "".join(part.function.arguments or "" for part in parts if part.function)
        reason = chunks[-1].choices[0].finish_reason
    else:
        choice = gpt.chat.completions.create(model=MODEL, messages=CHAT).choices[0]
        (call,) = choice.message.tool_calls or []
        assert call.type == "function"
        arguments, reason = call.function.arguments, choice.finish_reason
    assert (json.loads(arguments), reason) == ({"path": "a"}, "tool_calls")


def test_a_summary_follows_the_headings_that_are_asked_for(gpt: Any) -> None:
    """In Responses by instructions with forms, in chat by the last message."""
    form = "Summarise the transcript.\n\n## Goal\n(What the user wants.)\n\n## Files\n(Files that matter.)"
    reply = gpt.responses.create(model=MODEL, instructions=form, input=[*TALK, GO_ON])
    assert [line for line in reply.output_text.splitlines() if line.startswith("#")] == [
        "## Goal",
        "## Files",
    ]
    asked: list[Any] = [*TALK, {"role": "user", "content": form}]
    chat = gpt.chat.completions.create(model=MODEL, messages=asked)
    assert "## Files\n- src/login.py" in str(chat.choices[0].message.content)
