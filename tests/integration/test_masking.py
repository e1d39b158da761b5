"""What really leaves when secrets are masked: a session full of them, each request that a server got looked through."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from precompact_shared.engine.types import Format
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import Redaction
from precompact_shared.store.tenants import save_policy
from precompact_worker.tools import Ended
from tests.integration.test_worker import Bench, new_bench
from tests.integration.test_worker_providers import Office, record, wire
from tests.support.planted_secrets import is_left, planted
from tests.support.talk import assistant, turns, user
from tests.support.wires import Wire

__all__ = ["new_bench", "wire"]

FORMATS = {
    "anthropic": Format.ANTHROPIC,
    "responses": Format.OPENAI_RESPONSES,
    "chat": Format.OPENAI_CHAT,
}
HEAD, TAIL = 8_000, 4_000
"""Characters that the preset shows of a long result."""


@pytest.fixture
async def office(
    new_bench: Callable[[str, str, float], Bench],
    redis_url: str,
    tenant: str,
    wire: Wire,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Office]:
    """A bench of a session in the protocol of its provider."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = Office(new_bench(redis_url, tenant, 30), wire)
    made.bench.filled.format = FORMATS[wire.name]
    yield made
    await made.close()


def exchange(wire: Format, number: int, said: str, ran: str, came: str) -> list[dict[str, Any]]:
    """A user's words, a call of a shell and of an editor, and what the shell said."""
    name, arguments = f"call{number}", {"command": ran, "description": "run it"}
    if wire is Format.ANTHROPIC:
        thought = {"type": "thinking", "thinking": said, "signature": "c2lnbmF0dXJl"}
        call = {"type": "tool_use", "id": name, "name": "Bash", "input": arguments}
        result = {"type": "tool_result", "tool_use_id": name, "content": [{"type": "text", "text": came}]}
        return [
            user(said),
            {"role": "assistant", "content": [thought, call]},
            user_of(result),
            assistant(said),
        ]
    shell = {"name": "Bash", "arguments": json.dumps(arguments, ensure_ascii=False)}
    if wire is Format.OPENAI_CHAT:
        calls = [{"id": name, "type": "function", "function": shell}]
        result = {"role": "tool", "tool_call_id": name, "content": came}
        return [
            user(said),
            {"role": "assistant", "content": said, "tool_calls": calls},
            result,
            assistant(said),
        ]
    reasoning = {"type": "reasoning", "id": f"rs_{name}", "summary": [{"type": "summary_text", "text": said}]}
    called = {"type": "function_call", "call_id": name, **shell}
    return [
        user(said), reasoning, called, {"type": "function_call_output", "call_id": name, "output": came}, assistant(said),
    ]  # fmt: skip


def user_of(part: dict[str, Any]) -> dict[str, Any]:
    """A user message of this part."""
    return {"role": "user", "content": [part]}


def talk(wire: Format) -> Iterator[dict[str, Any]]:
    """Every secret in every place; of some long results the cut to head and tail goes right through one."""
    texts = [one.text for one in planted()]
    for number, text in enumerate(texts):
        filler = "a line of a log\n" * 2_000
        came = {
            0: filler[: HEAD - len(text) // 2] + text + filler,
            1: filler + text + filler[: TAIL - len(text) // 2],
        }.get(number % 8, texts[(number + 2) % len(texts)])
        yield from exchange(wire, number, text, texts[(number + 1) % len(texts)], came)


@pytest.mark.slow
async def test_no_planted_secret_leaves_in_any_request(office: Office) -> None:
    """In parts, sent back once, with the record before it, a focus, and in the second generation."""
    bench, wire = office.bench, office.bench.filled.format
    await office.open(
        office.wire.reply(record(without="## Open")),
        office.wire.reply(record()),
        fallback=False,
        redact=Redaction.TRANSCRIPT,
    )
    bench.filled.append([*talk(wire), *turns(40, words=12)])
    first = bench.filled.claim(focus=planted()[0].text)
    assert await bench.work(first) == Ended("stored"), bench.job(first).calls
    [tag] = [one for one in bench.candidates() if one.slot == "speculative"]
    bench.adopt(tag)
    bench.filled.append([*talk(wire), *turns(40, start=40, words=12)])
    second = bench.filled.claim()
    assert await bench.work(second) == Ended("stored"), bench.job(second).calls
    sent = [json.dumps(one.body, ensure_ascii=False) for one in office.server.requests]
    assert len(sent) > 3
    assert any("</previous-record>" in one for one in sent)
    assert any(
        "stand in the transcript and have to be in the record" in one or "is missing" in one for one in sent
    )
    left = {
        one.name for one in planted() for secret in one.secrets if any(is_left(secret, body) for body in sent)
    }
    assert left == set()


async def test_what_was_masked_is_not_asked_for_again(office: Office) -> None:
    """A record that tells the commands as they were shown lacks nothing; nor do facts that code keeps tell more."""
    bench, wire = office.bench, office.bench.filled.format
    token = "q7" * 16
    commands = [f"curl -H 'X-Api-Key: {token}{n}' https://api.example.org/items/{n}" for n in range(8)]
    shown = [f"curl -H 'X-Api-Key: [secret: named]' https://api.example.org/items/{n}" for n in range(8)]
    await office.open(
        office.wire.reply(record() + "\n" + "\n".join(shown)), fallback=False, redact=Redaction.ALWAYS
    )
    for number, command in enumerate(commands):
        bench.filled.append(exchange(wire, number, f"step {number}", command, "ok"))
    bench.filled.append(turns(40, words=12))
    job = bench.filled.claim()
    assert await bench.work(job) == Ended("stored"), bench.job(job).calls
    assert len(office.server.requests) == 1
    [tag] = [one for one in bench.candidates() if one.slot == "speculative"]
    body = bench.body(tag.cid)
    assert "[secret: named]" in body["summary"]
    assert token not in f"{body['summary']} {body['carried']}"


async def test_masking_that_begins_in_mid_session_holds_for_what_was_kept_before(office: Office) -> None:
    """The record and the facts of the first generation are made of words as they were said."""
    bench, wire = office.bench, office.bench.filled.format
    await office.open(office.wire.reply(record()), fallback=False)
    some = planted()[:3] + planted()[-16:]
    for number, one in enumerate(some):
        bench.filled.append(exchange(wire, number, one.text, one.text, one.text))
    bench.filled.append(turns(40, words=12))
    assert await bench.work(bench.filled.claim()) == Ended("stored")
    bench.adopt(next(tag for tag in bench.candidates() if tag.slot == "speculative"))
    before = len(office.server.requests)
    assert is_left(some[0].secrets[0], str(office.server.requests[0].body)), "nothing was masked so far"
    policy = Policy(providers=(office.wire.spec(office.server.url),), fallback=False, redact=Redaction.ALWAYS)
    bench.store.run(save_policy(bench.filled.tenant, policy))
    bench.filled.append(turns(40, start=40, words=12))
    assert await bench.work(bench.filled.claim()) == Ended("stored")
    sent = [json.dumps(one.body, ensure_ascii=False) for one in office.server.requests[before:]]
    assert sent
    assert not [
        one.name for one in some for secret in one.secrets if any(is_left(secret, body) for body in sent)
    ]
