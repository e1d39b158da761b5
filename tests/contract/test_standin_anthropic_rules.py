"""Each rule's smallest violation is refused with 400, and the smallest valid neighbour passes."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import BadRequestError

from precompact_standin import Scenario
from tests.support.standin import Served

MODEL = "claude-opus-5"
PNG = "iVBORw0KGgo="


def user(*content: Any) -> dict[str, Any]:
    """A user message; one string stays a string."""
    return {
        "role": "user",
        "content": content[0] if content and isinstance(content[0], str) else list(content),
    }


def assistant(*content: Any) -> dict[str, Any]:
    """The same for the assistant."""
    return {**user(*content), "role": "assistant"}


def text(value: str, **more: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value, **more}


def call(name: str = "t1") -> dict[str, Any]:
    """A call with that id."""
    return {"type": "tool_use", "id": name, "name": "bash", "input": {}}


def result(name: str = "t1", **more: Any) -> dict[str, Any]:
    """Its result."""
    return {"type": "tool_result", "tool_use_id": name, "content": "done", **more}


def image(source: dict[str, Any]) -> dict[str, Any]:
    """An image block."""
    return {"type": "image", "source": source}


def marked(ttl: str) -> dict[str, Any]:
    """A text block with a cache mark."""
    return text("x", cache_control={"type": "ephemeral", "ttl": ttl})


SERVER_CALL = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
SERVER_RESULT = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
PICTURE = image({"type": "base64", "media_type": "image/png", "data": PNG})
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
CITED = text("x", citations=[{"type": "char_location", "cited_text": "x"}])
OPENED = [user("go"), assistant(call())]

BROKEN: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("A1", [], {}),
    ("A2", [assistant("I lead"), user("go")], {}),
    ("A4", [user("go"), assistant("Sure")], {}),
    ("A5", [*OPENED, user("and?")], {}),
    ("A5", [user("go"), assistant(call("t1"), call("t2")), user(result("t1"))], {}),
    ("A6", [user("go"), assistant("no call"), user(result("t9"))], {}),
    ("A6", [*OPENED, user(result()), assistant("ok"), user(result())], {}),
    ("A7", [*OPENED, user(text("first"), result())], {}),
    ("A8", [user("go"), assistant(call(), call()), user(result())], {}),
    ("A8", [*OPENED, user(result(), result())], {}),
    ("A9a", [user(text(""), text("x"))], {}),
    ("A9a", [user("go")], {"system": [text("")]}),
    ("A9b", [user("  \n")], {}),
    ("A9b", [user(text(" "))], {}),
    ("A9b", [user("")], {}),
    ("A9b", [{"role": "user", "content": []}], {}),
    ("A9b", [user("go"), assistant(" "), user("on")], {}),
    (
        "A10",
        [
            user("go"),
            assistant({"type": "thinking", "thinking": "hm", "signature": ""}, text("x")),
            user("on"),
        ],
        {},
    ),
    ("A10", [user("go"), assistant({"type": "redacted_thinking", "data": ""}, text("x")), user("on")], {}),
    (
        "A10",
        [*OPENED, user(result())],
        {"thinking": {"type": "enabled", "budget_tokens": 1_024}, "max_tokens": 2_000},
    ),
    ("A12", [user("go"), assistant(DOCUMENT), user("on")], {}),
    ("A12", [user(CITED)], {}),
    ("A13", [user(*[marked("5m")] * 5)], {}),
    ("A13", [user(*[marked("5m")] * 4)], {"cache_control": {"type": "ephemeral"}}),
    ("A13", [user(marked("5m"), marked("1h"))], {}),
    ("A13", [user(marked("1h"))], {"system": [marked("5m")]}),
    ("A13", [user(marked("2h"))], {}),
    ("A16", [{"role": "tool", "content": "x"}], {}),
    ("A16", [user("go"), assistant("ok"), {"role": "system", "content": "be brief"}, user("on")], {}),
    ("A17", [user("go"), assistant(SERVER_RESULT, text("x")), user("on")], {}),
    ("A17", [user("go"), assistant(SERVER_CALL, text("x")), user("on")], {}),
    ("A18", [user(image({"type": "path", "path": "a.png"}))], {}),
    ("A18", [user(image({"type": "base64", "media_type": "image/bmp", "data": PNG}))], {}),
    (
        "A18",
        [user({"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": "x"}})],
        {},
    ),
    ("A18", [*OPENED, user(result(content=[call("t2")]))], {}),
    ("A19", [user(text("x", parsed_output={}))], {}),
    ("A19", [user({"type": "text", "text": None})], {}),
    ("A19", [user("go"), {**assistant("x"), "id": "msg_1"}, user("on")], {}),
    ("A19", [user("go"), assistant({"type": "tool_use", "id": "t1", "name": "bash"}), user(result())], {}),
    ("A19", [user({"type": "video"})], {}),
    ("A19", [user("go")], {"tools": [{"name": "a", "input_schema": {}, "parameters": {}}]}),
    ("A19", [user("go")], {"colour": "red"}),
    ("A19", [user("go")], {"metadata": None}),
    ("A19", [user("go")], {"tools": [{"name": "a", "input_schema": {}}] * 2}),
    ("V1", [user("go")], {"top_p": 0.9}),
    ("P2", [user("go")], {"service_tier": "flex"}),
    ("P3", [user("go")], {"thinking": {"type": "enabled", "budget_tokens": 1_023}, "max_tokens": 4_096}),
    ("P3", [user("go")], {"thinking": {"type": "enabled", "budget_tokens": 4_096}, "max_tokens": 4_096}),
]
OF_FORM = frozenset({"A1", "A16", "A18", "A19"})
"""What a request is made of; switched off, nothing could read it."""
VALID: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("neighbours of one role", [user("go"), user("on"), assistant("a"), assistant("b"), user("c")], {}),
    ("parallel calls", [user("go"), assistant(call("t1"), call("t2")), user(result("t2"), result("t1"))], {}),
    (
        "results in two messages",
        [user("go"), assistant(call("t1"), call("t2")), user(result("t1")), user(result("t2"))],
        {},
    ),
    ("text behind results", [*OPENED, user(result(), text("and?"))], {}),
    ("an empty assistant", [user("go"), assistant(""), user("on")], {}),
    ("blank text beside real text", [user("go"), assistant(text(" "), text("x")), user("on")], {}),
    ("a result without content", [*OPENED, user({"type": "tool_result", "tool_use_id": "t1"})], {}),
    ("four marks, 1h first", [user(marked("1h"), marked("1h"), marked("5m"), marked("5m"))], {}),
    ("a system message behind the user", [user("go"), {"role": "system", "content": "be brief"}], {}),
    ("a server tool with its result", [user("go"), assistant(SERVER_CALL, SERVER_RESULT), user("on")], {}),
    ("a picture", [user(PICTURE, text("?"))], {}),
    ("nulls the API takes", [user(text("x", cache_control=None))], {"inference_geo": None}),
    (
        "foreign thinking",
        [
            user("go"),
            assistant({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, text("x")),
            user("on"),
        ],
        {},
    ),
]


def send(claude: Any, messages: list[Any], more: dict[str, Any]) -> Any:
    """Send the body past the SDK's types."""
    return claude.post(
        "/v1/messages",
        body={"model": MODEL, "max_tokens": 2_000, "messages": messages, **more},
        cast_to=object,
    )


@pytest.mark.parametrize(("rule", "messages", "more"), BROKEN)
def test_the_smallest_violation_is_refused(
    claude: Any, standin: Served, rule: str, messages: list[Any], more: dict[str, Any]
) -> None:
    """With 400, the envelope the SDK reads, and by the rule it breaks."""
    with pytest.raises(BadRequestError) as caught:
        send(claude, messages, more)
    assert caught.value.type == "invalid_request_error"
    assert caught.value.request_id == standin.requests[-1]["request_id"]
    assert standin.requests[-1]["refusal"]["rule"] == rule


@pytest.mark.parametrize(("rule", "messages", "more"), [row for row in BROKEN if row[0] not in OF_FORM])
def test_every_rule_can_be_switched_off(
    claude: Any, standin: Served, rule: str, messages: list[Any], more: dict[str, Any]
) -> None:
    """Then nobody complains in its name."""
    standin.play(Scenario(rules_off=(rule, "A9b" if rule == "A9a" else rule)))
    try:
        send(claude, messages, more)
    except BadRequestError:
        assert standin.requests[-1]["refusal"]["rule"] != rule


@pytest.mark.parametrize(("messages", "more"), [row[1:] for row in VALID], ids=[row[0] for row in VALID])
def test_what_is_valid_passes(claude: Any, messages: list[Any], more: dict[str, Any]) -> None:
    """Nothing is refused in excess of the rules."""
    assert send(claude, messages, more)["type"] == "message"


def test_counting_refuses_what_a_message_would_be_refused_for(claude: Any) -> None:
    """The rules are the same."""
    with pytest.raises(BadRequestError, match="tool_result"):
        claude.messages.count_tokens(model=MODEL, messages=[user("go"), assistant("x"), user(result())])


def test_the_old_version_takes_documents_of_the_assistant(claude: Any) -> None:
    """A12 came with the new one."""
    old = claude.with_options(default_headers={"anthropic-version": "2023-06-01"})
    assert send(old, [user("go"), assistant(DOCUMENT), user("on")], {})["type"] == "message"


def test_an_old_model_takes_a_prefill(claude: Any) -> None:
    """A4 came with 4.6."""
    assert send(claude, [user("go"), assistant("Sure")], {"model": "claude-opus-4-5"})["type"] == "message"


def test_thinking_made_here_is_checked_when_it_comes_back(claude: Any) -> None:
    """Unchanged it passes, changed it does not."""
    made = send(claude, [user("go")], {"thinking": {"type": "adaptive"}})["content"]
    assert made[0]["type"] == "thinking"
    assert send(claude, [user("go"), assistant(*made), user("on")], {})
    changed = {**made[0], "thinking": "Something else."}
    with pytest.raises(BadRequestError, match="signature"):
        send(claude, [user("go"), assistant(changed, *made[1:]), user("on")], {})


def test_thinking_stays_bound_to_what_stood_before_it(claude: Any, standin: Served) -> None:
    """On a model that checks it: refused behind another beginning, dropped where that is asked for."""
    bound: dict[str, Any] = {"model": "claude-opus-5-5", "thinking": {"type": "adaptive"}}
    made = send(claude, [user("go")], bound)["content"]
    assert send(claude, [user("go"), assistant(*made), user("on")], bound)
    moved = [user("A summary, then: go"), assistant(*made), user("on")]
    with pytest.raises(BadRequestError):
        send(claude, moved, bound)
    assert standin.requests[-1]["refusal"]["rule"] == "A11"
    controls = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    beta = claude.with_options(default_headers={"anthropic-beta": "thinking-binding-controls-2026-08-01"})
    reply = send(beta, moved, {**bound, "thinking": controls})
    assert reply["input_transformations"] == [
        {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    ]
