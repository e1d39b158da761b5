"""Each rule's smallest violation is refused with 400 by OpenAI's endpoints, and valid neighbours pass."""

from __future__ import annotations

from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from precompact_standin import Scenario
from tests.support.standin import Served

MODEL = "gpt-6-sol"


def user(content: Any = "go") -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": content}


def call(name: str = "c1", **more: Any) -> dict[str, Any]:
    """A function call."""
    return {"type": "function_call", "call_id": name, "name": "bash", "arguments": "{}", **more}


def output(name: str = "c1", **more: Any) -> dict[str, Any]:
    """Its output."""
    return {"type": "function_call_output", "call_id": name, "output": "done", **more}


def reasoning(**more: Any) -> dict[str, Any]:
    """A reasoning item with an id."""
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0", **more}


SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "ok", "annotations": []}],
}
PATCH = {"type": "apply_patch_call", "call_id": "p1", "operation": {}, "status": "completed"}
CUSTOM = {"type": "custom_tool_call", "call_id": "k1", "name": "run", "input": "ls"}
TRIGGER = {"type": "compaction_trigger"}

BROKEN: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("O1", [user(), call()], {}),
    ("O1", [user(), call(), output(), output()], {}),
    ("O2", [user(), output()], {}),
    ("O2", [user(), output(), call()], {}),
    ("O3", [user(), CUSTOM], {}),
    ("O3", [user(), PATCH, {**output("p1"), "type": "custom_tool_call_output"}], {}),
    ("O4", [user(), reasoning(), user("on")], {}),
    ("O4", [user(), reasoning()], {}),
    ("O5", [user(), reasoning(encrypted_content=None), SAID, user("on")], {"store": False}),
    ("O5", [{"type": "item_reference", "id": "msg_1"}, user()], {"store": False}),
    ("O6", [user(), reasoning(content=[{"type": "reasoning_text", "text": "hm"}]), SAID, user("on")], {}),
    ("O6", [user(), reasoning(summary="hm"), SAID, user("on")], {}),
    ("O7", [user(), {**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}, user("on")], {}),
    ("O8", [TRIGGER, user()], {}),
    ("O10", [user(), call("x" * 65), output("x" * 65)], {}),
    ("O10", [user(), call(""), output("")], {}),
    ("O10", [user(), call(arguments={}), output()], {}),
    ("O12", [user([{"type": "output_text", "text": "x"}])], {}),
    ("O12", [user(), {**SAID, "content": [{"type": "input_text", "text": "x"}]}, user("on")], {}),
    ("O12", [{"role": "tool", "content": "x"}], {}),
    ("O0", [{"type": "mystery"}], {}),
    ("O0", [{**user(), "colour": "red"}], {}),
    ("O0", [user([{"type": "input_text", "text": "x", "cache_control": {}}])], {}),
    ("O0", [user(), {**call(), "name": None}, output()], {}),
    ("O0", [user()], {"max_tokens": 5}),
    (
        "O0",
        [user()],
        {"tools": [{"type": "function", "name": "t", "parameters": {}, "strict": None, "x": 1}]},
    ),
    ("O13", [user()], {"previous_response_id": "CHAIN", "conversation": "conv_1"}),
    ("O14", [{"type": "compaction", "encrypted_content": "bm90IG91cnM="}, user()], {}),
    ("P1", [user()], {"temperature": 0.5}),
    ("P2", [user()], {"max_output_tokens": 15}),
    ("P2", [user()], {"max_output_tokens": 128_001}),
    ("P2", [user()], {"service_tier": "standard_only"}),
    ("P2", [user()], {"context_management": [{"type": "compaction", "compact_threshold": 999}]}),
]
VALID: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("parallel calls", [user(), call("a"), call("b"), output("b"), output("a")], {}),
    ("messages between a call and its output", [user(), call(), user("wait"), output()], {}),
    ("reasoning with what it led to", [user(), reasoning(), call(), output()], {"store": False}),
    (
        "pairs of other types",
        [user(), CUSTOM, {"type": "custom_tool_call_output", "call_id": "k1", "output": "x"}],
        {},
    ),
    ("a client's name twice", [user(), {**SAID, "id": "mine"}, {**SAID, "id": "mine"}, user("on")], {}),
    ("a trigger at the end", [user(), SAID, TRIGGER], {}),
    ("an easy assistant", [user(), {"role": "assistant", "content": "ok"}, user("on")], {}),
    ("nulls the API takes", [user()], {"instructions": None, "metadata": None, "previous_response_id": None}),
    ("a temperature without reasoning", [user()], {"temperature": 0.5, "reasoning": {"effort": "none"}}),
]


def tool(name: str = "c1", content: Any = "done") -> dict[str, Any]:
    """A tool message of a chat."""
    return {"role": "tool", "tool_call_id": name, "content": content}


def calling(*names: str, **more: Any) -> dict[str, Any]:
    """An assistant of a chat that calls."""
    calls = [
        {"id": name, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for name in names
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


PICTURE = {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}
CHAT_BROKEN: list[tuple[str, list[Any]]] = [
    ("C0", []),
    ("C0", [{"role": "robot", "content": "x"}]),
    ("C0", [{**user(), "id": "m1"}]),
    ("C0", [{"role": "user", "content": None}]),
    ("C1", [user(), calling("c1")]),
    ("C1", [user(), calling("c1", "c2"), tool("c1")]),
    ("C1", [user(), calling("c1"), user("wait"), tool("c1")]),
    ("C2", [user(), tool()]),
    ("C2", [user(), calling("c1"), tool("c1"), tool("c1")]),
    ("C3", [user(), {"role": "assistant", "content": None}, user("on")]),
    ("C3", [user(), {"role": "assistant"}, user("on")]),
    ("C4", [user([])]),
    ("C4", [user(), calling("c1"), tool("c1", [PICTURE])]),
    ("C4", [{"role": "system", "content": [PICTURE]}, user()]),
]
CHAT_VALID: list[tuple[str, list[Any]]] = [
    ("parallel calls", [user(), calling("a", "b"), tool("b"), tool("a")]),
    ("neighbours of one role", [user(), user("on")]),
    ("a picture", [user([PICTURE, {"type": "text", "text": "?"}])]),
    ("an ending assistant", [user(), {"role": "assistant", "content": "x"}]),
]


def respond(gpt: OpenAI, given: list[Any], more: dict[str, Any]) -> Any:
    """Send the body past the SDK's types."""
    return gpt.post("/responses", body={"model": MODEL, "input": given, **more}, cast_to=object)


def chat(gpt: OpenAI, messages: list[Any]) -> Any:
    """The same for a chat."""
    return gpt.post("/chat/completions", body={"model": MODEL, "messages": messages}, cast_to=object)


@pytest.mark.parametrize(("rule", "given", "more"), BROKEN)
def test_the_smallest_violation_is_refused(
    gpt: OpenAI, standin: Served, rule: str, given: list[Any], more: dict[str, Any]
) -> None:
    """With 400, the envelope the SDK reads, and by the rule it breaks."""
    if more.get("previous_response_id"):
        more = {**more, "previous_response_id": respond(gpt, [user()], {})["id"]}
    with pytest.raises(BadRequestError) as caught:
        respond(gpt, given, more)
    assert caught.value.type == "invalid_request_error"
    assert caught.value.request_id == standin.requests[-1]["request_id"]
    assert standin.requests[-1]["refusal"]["rule"] == rule


@pytest.mark.parametrize(("given", "more"), [row[1:] for row in VALID], ids=[row[0] for row in VALID])
def test_what_is_valid_passes(gpt: OpenAI, given: list[Any], more: dict[str, Any]) -> None:
    """Nothing is refused in excess of the rules."""
    assert respond(gpt, given, more)["status"] == "completed"


@pytest.mark.parametrize(("rule", "messages"), CHAT_BROKEN)
def test_the_smallest_violation_in_a_chat_is_refused(
    gpt: OpenAI, standin: Served, rule: str, messages: list[Any]
) -> None:
    """By the rule it breaks."""
    with pytest.raises(BadRequestError):
        chat(gpt, messages)
    assert standin.requests[-1]["refusal"]["rule"] == rule


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"temperature": 0.5}, "P1"),
        ({"max_completion_tokens": 128_001}, "P2"),
        ({"max_tokens": 128_001}, "P2"),
        ({"service_tier": "standard_only"}, "P2"),
    ],
)
def test_what_a_model_has_not_is_refused_in_a_chat_too(
    gpt: OpenAI, standin: Served, more: dict[str, Any], rule: str
) -> None:
    """Unless the rule is switched off."""
    body = {"model": MODEL, "messages": [user()], **more}
    with pytest.raises(BadRequestError):
        gpt.post("/chat/completions", body=body, cast_to=object)
    assert standin.requests[-1]["refusal"]["rule"] == rule
    standin.play(Scenario(rules_off=(rule,)))
    gpt.post("/chat/completions", body=body, cast_to=object)


@pytest.mark.parametrize("messages", [row[1] for row in CHAT_VALID], ids=[row[0] for row in CHAT_VALID])
def test_a_valid_chat_passes(gpt: OpenAI, messages: list[Any]) -> None:
    """Nothing is refused in excess of the rules."""
    assert chat(gpt, messages)["object"] == "chat.completion"


def test_nothing_is_replayed_that_the_chain_holds(gpt: OpenAI, standin: Served) -> None:
    """O7, across requests."""
    first = respond(gpt, [user()], {})
    with pytest.raises(BadRequestError, match="Duplicate item"):
        respond(gpt, [*first["output"], user("on")], {"previous_response_id": first["id"]})


def test_an_output_may_answer_a_call_of_the_chain(gpt: OpenAI, standin: Served) -> None:
    """O2 looks at the whole window."""
    from precompact_standin import Reply, Step, ToolCall

    standin.play(Scenario(script=(Step(reply=Reply(calls=(ToolCall(name="bash"),))),)))
    first = respond(gpt, [user()], {})
    (made,) = first["output"]
    assert (
        respond(gpt, [output(made["call_id"])], {"previous_response_id": first["id"]})["status"]
        == "completed"
    )


def test_rules_can_be_switched_off(gpt: OpenAI, standin: Served) -> None:
    """By their ids."""
    standin.play(Scenario(rules_off=("O4", "C1")))
    assert respond(gpt, [user(), reasoning(), user("on")], {})
    assert chat(gpt, [user(), calling("c1"), user("on")])
