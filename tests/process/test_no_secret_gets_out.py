"""Secrets planted everywhere, and providers that fail in every way: no log, message, event, record or problem tells one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from precompact_shared.engine.types import Format
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import Api, CallMode, Platform, ProviderName, ProviderSpec
from precompact_standin import Scenario, Step
from precompact_standin.scenario import Fault, FaultKind
from precompact_worker.providers.clients import host_of
from tests.contract.asking import KEYS
from tests.support.backends import ACCESS_KEY, BEDROCK_CLAUDE, CLAUDE, GPT, KEY, SECRET
from tests.support.eavesdropping import Eavesdropper, values_of
from tests.support.stack import Shape, Stack
from tests.support.standin import Served
from tests.support.talk import WORDS
from tests.support.waiting import eventually

pytestmark = pytest.mark.process
WORD = "zebra-pomegranate-4711"
"""Once in each text, call, result, prompt, tool, parameter and header, with where it stood behind it."""
FILE_KEY = "sk-planted-in-a-file-0123456789"
SILENT = {FaultKind.SLOW_FIRST_BYTE, FaultKind.STALLED_STREAM, FaultKind.PINGED_STREAM}
"""They only take time."""
FAULTS = tuple(
    Fault(kind=kind, message=f"we saw {WORD}-server in your request", retry_after=f"{WORD}-header")
    for kind in FaultKind
    if kind not in SILENT
)
CONTENT = ("b", "x", "a", "i")
"""Kinds of session keys that hold the conversation and what was made of it: they are for its owner alone."""


@pytest.fixture(scope="module")
def keys() -> Iterator[None]:
    """Keys where providers look for them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def stack(tmp_path: Path, keys: None, standin: Served) -> Iterator[Stack]:
    """One process of each kind, every line logged; policies may use the stand-in."""
    (tmp_path / "key").write_text(FILE_KEY)
    settings = {
        "provider_hosts": (host_of(standin.url),),
        "provider_key_refs": ("env:*", f"file:{tmp_path}/*"),
        "log_level": "DEBUG",
        "job_attempts": 3,
    }
    with Stack(tmp_path / "stack", Shape(apis=1, schedulers=1, workers=1, settings=settings)) as service:
        yield service


def policy(standin: Served, key_file: Path) -> Policy:
    """Every platform and way in one chain, the caller last."""
    claude: dict[str, Any] = {"name": ProviderName.ANTHROPIC, "model": CLAUDE, "base_url": standin.url}
    gpt: dict[str, Any] = {"name": ProviderName.OPENAI, "model": GPT, "base_url": standin.openai_url}
    bedrock = {"platform": Platform.BEDROCK, "region": "eu-central-1", "model": BEDROCK_CLAUDE}
    return Policy(
        providers=(
            ProviderSpec(**claude, mode=CallMode.NATIVE),
            ProviderSpec(**claude, mode=CallMode.PREFIX, key_ref=f"file:{key_file}"),
            ProviderSpec(**{**claude, **bedrock}),
            ProviderSpec(**gpt, mode=CallMode.NATIVE),
            ProviderSpec(**gpt, stream=False),
            ProviderSpec(**gpt, api=Api.CHAT),
        )
    )


def conversation(wire: Format) -> list[dict[str, Any]]:
    """A long one with a call and its result, each part with the word in it."""
    said: list[dict[str, Any]] = [{"role": "user", "content": f"Remember {WORD}-user."}]
    arguments = {"path": f"{WORD}-argument.py"}
    match wire:
        case Format.ANTHROPIC:
            use = {"type": "tool_use", "id": "t1", "name": "read", "input": arguments}
            result = {"type": "tool_result", "tool_use_id": "t1", "content": f"{WORD}-result"}
            said += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        case Format.OPENAI_RESPONSES:
            call = {"type": "function_call", "call_id": "t1", "name": "read"}
            said.append({**call, "arguments": json.dumps(arguments)})
            said.append({"type": "function_call_output", "call_id": "t1", "output": f"{WORD}-result"})
        case Format.OPENAI_CHAT:
            function = {"name": "read", "arguments": json.dumps(arguments)}
            calls = [{"id": "t1", "type": "function", "function": function}]
            said.append({"role": "assistant", "content": None, "tool_calls": calls})
            said.append({"role": "tool", "tool_call_id": "t1", "content": f"{WORD}-result"})
    for number in range(60):
        said.append({"role": "assistant", "content": f"{WORD}-answer {number}: {WORDS * 12}"})
        said.append({"role": "user", "content": f"{WORD}-request {number}: {WORDS * 12}"})
    return said


def prefix(wire: Format) -> dict[str, Any]:
    """System prompt, a tool, parameters."""
    tool: dict[str, Any] = {"name": "read", "description": f"{WORD}-tool"}
    if wire is Format.ANTHROPIC:
        tool["input_schema"] = {"type": "object"}
    else:
        tool |= {"type": "function", "parameters": {"type": "object"}}
    tools = [{"type": "function", "function": tool}] if wire is Format.OPENAI_CHAT else [tool]
    return {"system": f"{WORD}-system", "tools": tools, "params": {"metadata": {"user_id": f"{WORD}-param"}}}


class Caller:
    """An agent with a key; keeps every problem it is told."""

    def __init__(self, url: str, key: str) -> None:
        headers = {"authorization": f"Bearer {key}", "x-agent": f"{WORD}-agent"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False)
        self.problems: list[str] = []

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One call."""
        answer = self.http.request(method, path, **options)
        if answer.status_code >= 400:
            self.problems.append(answer.text + str(answer.headers))
        return answer

    def prepare(self, session: str, wire: Format) -> None:
        """A session whose limit is reached."""
        model = CLAUDE if wire is Format.ANTHROPIC else GPT
        body = {"format": wire, "model": model, "window": 40_000, "max_output": 4_000}
        body |= {"seen": {"version": 0, "length": 0}, "messages": conversation(wire), "prefix": prefix(wire)}
        answer = self.send("POST", f"/v1/sessions/{session}/prepare", json=body)
        assert answer.status_code == 200, answer.text

    def blunder(self) -> None:
        """Calls that are refused, each with the word in it."""
        path = "/v1/sessions/bad/prepare"
        seen = {"seen": {"version": 0, "length": 0}, "format": "anthropic", "window": 40_000}
        message = {"role": "user", "content": f"{WORD}-x"}
        bodies: list[Any] = [
            {**seen, "messages": f"{WORD}-x"},
            {**seen, "messages": [f"{WORD}-x"]},
            {**seen, "messages": [{**message, "role": f"{WORD}-x"}]},
            {**seen, "messages": [message], "format": f"{WORD}-x"},
            {**seen, "messages": [message], "window": f"{WORD}-x"},
            {**seen, "messages": [message], "focus": f"{WORD}-x"},
            {**seen, "messages": [message], "usage": {"input_tokens": f"{WORD}-x"}},
            {**seen, "messages": [message], "prefix": {"digest": f"{WORD}-x"}},
            {**seen, "messages": [message], "seen": {"version": 9, "length": 9}},
            {**seen, "messages": [message], f"{WORD}-field": 1},
            {**seen, "messages": [{**message, f"{WORD}-field": 1}]},
            [f"{WORD}-x"],
            f"{WORD}-x",
        ]
        for body in bodies:
            self.send("POST", path, json=body)
        self.send("POST", path, content=f'{{"messages": ["{WORD}-x'.encode())
        self.send("POST", path, content=f"{WORD}-x".encode(), headers={"content-type": f"{WORD}-x/y"})
        self.send("POST", path, json=seen, headers={"authorization": f"Bearer pc_{WORD}-x"})
        self.send("POST", "/v1/sessions/a/compact", json={"focus": [f"{WORD}-x"]})
        self.send("POST", "/v1/compactions/a:b:0:due:1/result", json={"reply": f"{WORD}-x"})


def test_what_is_planted_is_found_where_it_belongs_and_nowhere_else(
    stack: Stack, standin: Served, tmp_path: Path
) -> None:
    """Texts, calls, results, prompts, parameters, keys of all kinds, headers, and what servers say."""
    standin.play(Scenario(script=tuple(Step(fault=fault) for fault in FAULTS)))
    tenant, secret = stack.new_tenant(policy(standin, tmp_path / "key"))
    caller = Caller(stack.api_urls[0], secret)
    with Eavesdropper(stack.broker.url) as ear:
        eventually(lambda: ear.kinds, 30, "Celery's events")
        wires = itertools.cycle((Format.ANTHROPIC, Format.OPENAI_RESPONSES, Format.OPENAI_CHAT))
        for number, wire in zip(range(3 * len(FAULTS)), wires, strict=False):
            caller.prepare(f"s{number}", wire)
            eventually(lambda: _is_tried(stack, tenant), 60, "the job's first attempt")
            if len(standin.requests) >= len(FAULTS):
                break
        caller.blunder()
        eventually(lambda: {"task-received", "task-succeeded"} <= ear.kinds, 30, "events of tasks")
        inspected = ear.inspected()
    caller.http.close()
    assert _faults(standin) >= {fault.kind for fault in FAULTS}
    assert len(caller.problems) >= 12
    seen = {
        "logs": "\n".join(stack.log(kind, number) for kind, number in stack.names),
        "events": "\n".join(ear.events),
        "messages": "\n".join(ear.messages),
        "workers": inspected,
        "broker": "\n".join(text for _, text in values_of(stack.broker.url)),
        "ledger": "\n".join(text for _, text in values_of(stack.state.url, but=_holds_content)),
    }
    content = "\n".join(
        text for _, text in values_of(stack.state.url, but=lambda key: not _holds_content(key))
    )
    assert f"{tenant}:s0:" in seen["logs"]
    assert f"{tenant}:s0:" in seen["events"]
    assert "rate_limit_error" in seen["ledger"]
    assert f"{WORD}-user" in content  # the search finds what there is
    for place, text in {**seen, "problems": "\n".join(caller.problems)}.items():
        for planted in (WORD, KEY, SECRET, ACCESS_KEY, FILE_KEY, secret):
            assert planted not in text, f"{place} tell {planted}: {_around(text, planted)}"


def _is_tried(stack: Stack, tenant: str) -> bool:
    """Whether every session's job has begun, and none is at work."""
    jobs = [text for _, text in values_of(stack.state.url, but=lambda key: f":j:{tenant}/" not in key)]
    return bool(jobs) and all("calls" in text and "running" not in text for text in jobs)


def _faults(standin: Served) -> set[str]:
    return {str(entry["fault"]) for entry in standin.requests if entry.get("fault")}


def _holds_content(key: str) -> bool:
    kind = key.split(":", 3)[2] if key.count(":") >= 3 else ""
    return kind in CONTENT


def _around(text: str, planted: str) -> str:
    at = text.find(planted)
    return text[max(0, at - 200) : at + 100]
