"""Whatever comes in, and whatever shall go wrong, the stand-in answers in its protocol: nothing makes it stumble."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from precompact_standin import Scenario, create_app
from precompact_standin.app import ENDPOINTS
from precompact_standin.delivery import Delivery
from precompact_standin.faults import ON_THE_WAY
from precompact_standin.scenario import FaultKind
from tests.contract import test_standin_anthropic_rules as messages_rules
from tests.contract import test_standin_openai_rules as openai_rules

JUNK: tuple[Any, ...] = (
    None,
    1,
    -1,
    1.5,
    True,
    "",
    "x",
    " ",
    [],
    {},
    [None],
    [1],
    ["x"],
    [{}],
    {"type": "x"},
    [[]],
)
BETAS = "compact-2026-09-04,compact-2026-01-12,context-management-2025-06-27"
HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21", "anthropic-beta": BETAS}
MARK = {"cache_control": {"type": "ephemeral"}}
EDITS = [
    {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 1},
        "keep": {"type": "tool_uses", "value": 1},
        "clear_at_least": {"type": "input_tokens", "value": 1},
    },
    {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}},
]
CLAUDE_MORE: dict[str, Any] = {
    "system": [{"type": "text", "text": "s", **MARK}],
    "tools": [{"name": "bash", "input_schema": {}, **MARK}],
    "thinking": {"type": "adaptive"},
    "stop_sequences": ["the"],
    "context_management": {"edits": EDITS},
    **MARK,
}
GPT_MORE: dict[str, Any] = {
    "tools": [{"type": "function", "name": "t", "parameters": {}, "strict": None}],
    "reasoning": {"effort": "low"},
    "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
    "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
    "max_output_tokens": 50,
}


def bodies(path: str) -> list[dict[str, Any]]:
    """Requests to begin from: those of the rules, bare and with everything."""
    if path.startswith("/model/"):
        told = {"anthropic_version": "2026-10-21", "anthropic_beta": BETAS.split(",")}
        plain = ({**body, **told} for body in bodies("/v1/messages"))
        return [{name: value for name, value in body.items() if name != "model"} for body in plain]
    if path.startswith("/v1/messages"):
        rows = [*messages_rules.BROKEN, *messages_rules.VALID]
        base = {"model": "claude-opus-5"} | ({} if "count" in path else {"max_tokens": 50})
        return [{**base, "messages": row[1], **row[2], **more} for row in rows for more in ({}, CLAUDE_MORE)]
    if "chat" in path:
        found = [*openai_rules.CHAT_BROKEN, *openai_rules.CHAT_VALID]
        return [{"model": "gpt-6-sol", "messages": row[1], "stream": True, "stop": ["the"]} for row in found]
    more = ({}, GPT_MORE) if path == "/v1/responses" else ({},)
    return [
        {"model": "gpt-6-sol", "input": row[1], **extra}
        for row in [*openai_rules.BROKEN, *openai_rules.VALID]
        for extra in more
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, content in inside:
        yield (*path, key)
        yield from places(content, (*path, key))


def spoiled(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The body with one to three places taken out or filled with junk."""
    made = copy.deepcopy(body)
    for _ in range(chance.choice((1, 1, 2, 3))):
        *way, last = chance.choice(list(places(made)) or [("x",)])
        holder: Any = made
        for key in way:
            holder = holder[key]
        if chance.random() < 0.2 and not isinstance(holder, list) and last in holder:
            del holder[last]
        else:
            holder[last] = copy.deepcopy(chance.choice(JUNK))
    return made


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: str(endpoint.path))
@pytest.mark.parametrize("seed", range(3))
def test_junk_gets_an_answer(endpoint: Any, seed: int) -> None:
    """200 or an error of the protocol, never a stumble."""
    chance = random.Random(seed)
    app = create_app()
    seeds = bodies(endpoint.path)
    for _ in range(400):
        content = msgspec.json.encode(spoiled(chance.choice(seeds), chance))
        delivery = app.serve(endpoint, HEADERS, content, {"model": "claude-opus-5"})
        delivery.answer.on_begin()
        assert delivery.answer.status in {200, 400, 404}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"1", b'"x"', b"\xff\xfe", b"null"])
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: str(endpoint.path))
def test_what_is_no_object_is_refused(endpoint: Any, content: bytes) -> None:
    """With 400."""
    assert create_app().serve(endpoint, HEADERS, content, {"model": "claude-opus-5"}).answer.status == 400


GENERATING = [one for one in ENDPOINTS if one.generates]


def _sound(path: str) -> dict[str, Any]:
    if path.startswith("/model/"):
        return {
            "anthropic_version": "2026-10-21",
            "max_tokens": 500,
            "messages": [{"role": "user", "content": "Hi."}],
        }
    if path == "/v1/messages":
        return {"model": "claude-opus-5", "max_tokens": 500, "messages": [{"role": "user", "content": "Hi."}]}
    if "chat" in path:
        return {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "Hi."}]}
    return {"model": "gpt-6-sol", "input": "Hi."}


def _served(endpoint: Any, fault: str) -> Delivery:
    headers = {**HEADERS, "x-standin-fault": fault}
    content = msgspec.json.encode(_sound(endpoint.path))
    app = create_app(Scenario(start_s=1_800_000_000.0))
    return app.serve(endpoint, headers, content, {"model": "claude-opus-5"})


def _told(delivery: Delivery) -> bytes:
    events = delivery.answer.events
    return delivery.answer.body if events is None else b"".join(event.data for event in events)


@pytest.mark.parametrize("kind", list(FaultKind))
@pytest.mark.parametrize("endpoint", GENERATING, ids=lambda endpoint: str(endpoint.path))
def test_every_fault_shows(endpoint: Any, kind: FaultKind) -> None:
    """In the answer or on the way; none passes for health."""
    sound, faulty = _served(endpoint, ""), _served(endpoint, kind)
    assert sound.answer.status == 200
    if kind in ON_THE_WAY:
        assert faulty.fault is not None
    else:
        assert _told(faulty) != _told(sound)
