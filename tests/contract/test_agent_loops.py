from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

from examples import anthropic_loop, openai_chat_loop, openai_loop
from precompact import Client, Session
from precompact_standin import Reply, ToolCall
from tests.contract.scripted_provider import ScriptedProvider, scripted_provider
from tests.support.standin import Served
from tests.unit.client.fake_service import FakeService


def read(path: str) -> ToolCall:
    """A call of the tool that reads."""
    return ToolCall(name="read", input={"path": path})


SCRIPT = (
    Reply(text="I look around first.", thinking="Where to begin?", calls=(read("a.py"), read("b.py"))),
    Reply(thinking="There may be more.", calls=(read("missing.py"),)),
    Reply(calls=(ToolCall(name="count", input={"upto": 3}),)),
    Reply(text="There are two files."),
)
FILES = {"a.py": "print('a')\n", "b.py": "print('b')\n"}
TOOLS: dict[str, Callable[..., str]] = {
    "read": lambda path: FILES[path],
    "count": lambda upto: " ".join(str(number) for number in range(upto)),
}
QUICK: dict[str, Any] = {"api_key": "sk-test", "max_retries": 0}
Loop = Callable[[ScriptedProvider, Session], str]


def anthropic_run(provider: ScriptedProvider, session: Session) -> str:
    """The Anthropic example on the scripted provider."""
    with Anthropic(base_url=provider.url, http_client=provider.anthropic_http(), **QUICK) as llm:
        return anthropic_loop.run(llm, session, "What files are there?", TOOLS, [])


def responses_run(provider: ScriptedProvider, session: Session) -> str:
    """The OpenAI Responses example."""
    with OpenAI(base_url=f"{provider.url}/v1", http_client=provider.openai_http(), **QUICK) as llm:
        return openai_loop.run(llm, session, "What files are there?", TOOLS, [])


def chat_run(provider: ScriptedProvider, session: Session) -> str:
    """The Chat Completions example."""
    with OpenAI(base_url=f"{provider.url}/v1", http_client=provider.openai_http(), **QUICK) as llm:
        return openai_chat_loop.run(llm, session, "What files are there?", TOOLS, [])


LOOPS = {"anthropic": anthropic_run, "openai-responses": responses_run, "openai-chat": chat_run}
loops = pytest.mark.parametrize(("wire", "loop"), LOOPS.items(), ids=LOOPS)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxy settings of the machine must not catch calls to 127.0.0.1."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def provider(standin: Served) -> ScriptedProvider:
    """The stand-in with the script."""
    return scripted_provider(standin, SCRIPT)


def asked(provider: ScriptedProvider, number: int) -> list[dict[str, Any]]:
    """The messages of one request to the provider."""
    body = provider.requests[number]
    messages: list[dict[str, Any]] = body.get("messages") or body["input"]
    return messages


def play(service: FakeService, provider: ScriptedProvider, wire: str, loop: Loop) -> Session:
    """Run one loop to its end against the contract in memory."""
    with Client("http://precompact.test", "key", transport=service.transport()) as client:
        session = client.session(f"loop-{wire}", format=wire, window=100_000)
        assert loop(provider, session) == "There are two files."
    return session


@loops
def test_a_loop_plays_to_its_end(provider: ScriptedProvider, wire: str, loop: Loop) -> None:
    """Parallel calls, a failing tool, and nothing the provider refuses; the service holds what the session holds."""
    service = FakeService()
    session = play(service, provider, wire, loop)
    assert len(provider.requests) == len(SCRIPT)
    assert provider.refusals == []
    stored = service.sessions[session.id].entries
    assert stored == session.messages[: len(stored)]
    assert asked(provider, -1) == stored
    assert "KeyError" in str(stored)
    assert len(session.messages) > len(stored)  # the last reply goes with the next task


@loops
def test_a_loop_reports_what_its_provider_counted(provider: ScriptedProvider, wire: str, loop: Loop) -> None:
    """The whole prompt, whatever the provider's convention, with the length it was measured on."""
    service = FakeService()
    play(service, provider, wire, loop)
    reported = [body["usage"] for body in service.bodies() if "usage" in body]
    assert len(reported) == len(SCRIPT) - 1
    for number, usage in enumerate(reported):
        messages = asked(provider, number)
        assert usage["length"] == len(messages)
        assert usage["input_tokens"] > 5
    assert [usage["input_tokens"] for usage in reported] == sorted(
        usage["input_tokens"] for usage in reported
    )


@loops
def test_a_loop_goes_on_while_the_service_is_away(provider: ScriptedProvider, wire: str, loop: Loop) -> None:
    """From the second call on nobody answers: the agent does not notice."""
    service = FakeService()
    service.fail = lambda number: "answer" if number == 0 else "refuse"
    session = play(service, provider, wire, loop)
    assert asked(provider, -1) == session.messages[: len(asked(provider, -1))]
    assert provider.refusals == []
