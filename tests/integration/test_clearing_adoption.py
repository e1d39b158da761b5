"""Clearing from the job to the context: a worker makes it, the API freezes it, later checkpoints carry it on (rule 7)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from precompact.splice import apply_context
from precompact_shared.engine.catalogue import ToolKind
from precompact_shared.engine.clearing import is_cleared
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate
from precompact_shared.policy import Policy, ToolSpec
from precompact_shared.store import reading
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import CandidateTag, JobKind
from precompact_worker.run import Ref, Runner
from precompact_worker.tools import Ended
from tests.support.candidates import claim, put, view_of
from tests.support.service import Service
from tests.support.talk import assistant, user
from tests.support.workers import worker_of

RESULTS = 20
TEXT = "the parser reads one line after the other and writes what it finds into the table " * 340
"""About 8,000 tokens for a Claude; twenty of them nearly fill the window."""

Messages = list[dict[str, Any]]


def anthropic_step(number: int) -> Messages:
    """A call and its result."""
    use = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"{number}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} {TEXT}"}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def chat_step(number: int) -> Messages:
    """The same for Chat Completions."""
    function = {"name": "Read", "arguments": '{"file_path": "a.py"}'}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "content": f"{number} {TEXT} {TEXT[: len(TEXT) // 2]}",
        },
    ]


def responses_step(number: int) -> Messages:
    """The same for Responses."""
    call = {"type": "function_call", "call_id": f"c{number}", "name": "Read", "arguments": "{}"}
    text = f"{number} {TEXT} {TEXT[: len(TEXT) // 2]}"
    return [call, {"type": "function_call_output", "call_id": f"c{number}", "output": text}]


STEPS = {
    Format.ANTHROPIC: anthropic_step,
    Format.OPENAI_CHAT: chat_step,
    Format.OPENAI_RESPONSES: responses_step,
}


class Session:
    """An agent with its own list, a worker, and the service between them."""

    def __init__(self, service: Service, http: httpx.Client, runner: Runner, wire: Format) -> None:
        self.service, self.http, self.runner, self.wire = service, http, runner, wire
        self.messages: Messages = []
        self.version = self.length = 0

    def prepare(self, news: Messages, **options: Any) -> dict[str, Any]:
        """Sends news and takes over what the answer says."""
        self.messages += news
        body = {
            "format": self.wire,
            "window": 200_000,
            "max_output": 8_000,
            "seen": {"version": self.version, "length": self.length},
            "messages": news,
        }
        response = self.http.post("/v1/sessions/s/prepare", json=body | options)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        self.version, self.length = answer["history_version"], answer["length"]
        return answer

    def context(self, answer: dict[str, Any]) -> Messages:
        """The stated context, spliced from the own list, which the provider must take."""
        stated = answer["context"]
        context = apply_context(self.messages, stated["insert"], stated["keep_from"], stated["edits"])
        assert validate(self.wire, context) == ()
        return context

    def start(self) -> dict[str, Any]:
        """A request and twenty large results."""
        steps = [message for number in range(RESULTS) for message in STEPS[self.wire](number)]
        return self.prepare([user("Find the fault."), *steps], adopt="never")

    async def work(self, kind: JobKind = JobKind.SPECULATIVE) -> Ended:
        """One job, by a real worker."""
        job = claim(self.service, "s", kind)
        self.service.store.run(self.service.ops("s").queued(job.jid))
        return await self.runner.run(Ref(self.service.tenant, "s", job.jid))

    def candidate(self) -> CandidateTag:
        """The open candidate."""
        (tag,) = view_of(self.service, "s").candidates
        return tag

    def adopt(self, cid: str) -> dict[str, Any]:
        """Adopts it by hand and asks for the context."""
        response = self.http.post("/v1/sessions/s/adopt", json={"candidate": cid})
        assert response.status_code == 200, response.text
        self.version = view_of(self.service, "s").version
        return self.prepare([])

    async def clear(self) -> dict[str, Any]:
        """From the first call to the cleared context."""
        self.start()
        assert await self.work() == Ended("stored")
        return self.adopt(self.candidate().cid)


@pytest.fixture
async def runner(service: Service) -> AsyncIterator[Runner]:
    """A worker without Celery."""
    async with worker_of(service) as made:
        yield made


@pytest.fixture
def session(service: Service, http: httpx.Client, runner: Runner) -> Session:
    """An Anthropic session."""
    return Session(service, http, runner, Format.ANTHROPIC)


def edited(answer: dict[str, Any]) -> list[int]:
    """Which entries the context edits."""
    return [edit["seq"] for edit in answer["context"]["edits"]]


@pytest.mark.parametrize("wire", list(Format))
async def test_clearing_alone_is_the_candidate_where_it_is_enough(
    service: Service, http: httpx.Client, runner: Runner, wire: Format
) -> None:
    """No summary: the base's upto, edits that name their addresses, a size that falls by what was promised."""
    session = Session(service, http, runner, wire)
    before = session.start()["context"]["tokens"]
    assert await session.work() == Ended("stored")
    tag = session.candidate()
    assert (tag.kind, tag.upto, tag.provider, tag.slot) == ("clearing", 0, "clearing", "speculative")
    answer = session.adopt(tag.cid)
    stated = answer["context"]
    assert (stated["checkpoint"], stated["insert"], stated["keep_from"]) == (tag.cid, [], 0)
    assert edited(answer) == list(range(2, tag.through, 2))
    assert stated["tokens"] == before - (tag.tokens_before - tag.tokens_after) < before - 20_000
    context = session.context(answer)
    assert len(context) == len(session.messages)
    assert f"[r:{tag.through - 1}]" in str(context[tag.through - 1])
    assert context[tag.through :] == session.messages[tag.through :]


async def test_a_summary_is_made_where_clearing_is_not_enough(session: Session) -> None:
    """Some results could go, but what fills the context is said by user and model."""
    steps = [message for number in range(14) for message in anthropic_step(number)]
    filler = [message for n in range(4) for message in (assistant(f"{n} {TEXT}"), user(f"{n} {TEXT}"))]
    session.prepare([user("Find the fault."), *steps, *filler], adopt="never")
    assert await session.work() == Ended("stored")
    assert session.candidate().kind == "summary"


async def test_a_manual_job_summarises(session: Session) -> None:
    """Who asks by hand wants what was asked for."""
    session.start()
    assert await session.work(JobKind.MANUAL) == Ended("stored")
    assert session.candidate().kind == "summary"


async def test_a_tenant_may_protect_a_tool(session: Session) -> None:
    """Its row goes in front of the shipped one."""
    session.start()
    policy = Policy(tools={"read": ToolSpec(kind=ToolKind.READ, protect=True)})
    session.service.store.run(save_policy(session.service.tenant, policy))
    assert await session.work() == Ended("stored")
    assert session.candidate().kind == "summary"


async def test_a_later_summary_carries_the_edits_it_does_not_cover(session: Session) -> None:
    """Cleared results behind the cut stay cleared, those in front are covered; the size knows of both."""
    cleared = edited(await session.clear())
    view = view_of(session.service, "s")
    answer = session.adopt(put(session.service, "s", upto=9))
    assert answer["context"]["keep_from"] == 9
    assert edited(answer) == [seq for seq in cleared if seq >= 9]
    keys = session.service.keys("s")
    clearing, summary = session.service.store.run(reading.checkpoints(keys))
    assert [seq for seq, _ in summary.cleared] == edited(answer)
    (last,) = session.service.store.run(reading.metas(keys, [8]))
    assert last is not None
    covered = last.cum - sum(tokens for seq, tokens in clearing.cleared if seq < 9)
    assert answer["context"]["tokens"] == view.tokens - covered + summary.tokens_after
    session.context(answer)


async def test_a_job_on_a_cleared_context_knows_its_size(session: Session) -> None:
    """What a summary replaces is what is shown: results that are cleared count as the note that stands there."""
    await session.clear()
    assert await session.work(JobKind.MANUAL) == Ended("stored")
    tag, keys = session.candidate(), session.service.keys("s")
    (clearing,) = session.service.store.run(reading.checkpoints(keys))
    (last,) = session.service.store.run(reading.metas(keys, [tag.upto - 1]))
    assert last is not None
    assert tag.tokens_before == last.cum - sum(tokens for seq, tokens in clearing.cleared if seq < tag.upto)


async def test_what_was_cleared_is_not_cleared_again_and_new_results_are(session: Session) -> None:
    """The next clearing adds to the edits that stand and keeps their bytes."""
    first = await session.clear()
    more = [message for n in range(RESULTS, RESULTS + 9) for message in anthropic_step(n)]
    session.prepare(more, adopt="never")
    assert await session.work() == Ended("stored")
    tag = session.candidate()
    assert tag.kind == "clearing"
    answer = session.adopt(tag.cid)
    assert answer["context"]["edits"][: len(edited(first))] == first["context"]["edits"]
    assert len(edited(answer)) > len(edited(first))
    assert len(set(edited(answer))) == len(edited(answer))
    older, newer = session.service.store.run(reading.checkpoints(session.service.keys("s")))
    assert newer.cleared[: len(older.cleared)] == older.cleared
    assert newer.insert_tokens == -sum(tokens for _, tokens in newer.cleared)
    session.context(answer)


async def test_a_rewrite_drops_the_edits_behind_it_for_good(session: Session) -> None:
    """Even the same entries, sent again, are shown as they are."""
    cleared = edited(await session.clear())
    seen = {"version": session.version, "length": session.length}
    response = session.http.post("/v1/sessions/s/rewind", json={"to": 9, "seen": seen})
    assert response.status_code == 200, response.text
    removed, session.messages = session.messages[9:], session.messages[:9]
    session.version, session.length = response.json()["history_version"], 9
    answer = session.prepare(removed, adopt="never")
    assert edited(answer) == [seq for seq in cleared if seq < 9]
    session.context(answer)


async def test_a_carried_edit_too_ends_at_a_rewrite(session: Session) -> None:
    """The summary that carries it stays; its size is that of what is shown."""
    await session.clear()
    kept = edited(session.adopt(put(session.service, "s", upto=5)))
    seen = {"version": session.version, "length": session.length}
    response = session.http.post("/v1/sessions/s/rewind", json={"to": 11, "seen": seen})
    removed, session.messages = session.messages[11:], session.messages[:11]
    session.version, session.length = response.json()["history_version"], 11
    answer = session.prepare(removed, adopt="never")
    assert answer["context"]["keep_from"] == 5
    assert edited(answer) == [seq for seq in kept if seq < 11]
    session.context(answer)


async def test_a_list_in_its_cleared_form_is_recognised(session: Session) -> None:
    """`view: context`: what we gave back, plus news, adds the news alone."""
    context = session.context(await session.clear())
    length = session.length
    body = {
        "format": "anthropic",
        "window": 200_000,
        "max_output": 8_000,
        "view": "context",
        "seen": {"version": session.version, "length": length},
        "messages": [*context, assistant("Found it.")],
    }
    response = session.http.post("/v1/sessions/s/prepare", json=body)
    assert response.status_code == 200, response.text
    assert response.json()["length"] == length + 1


async def test_a_revert_shows_the_results_again(session: Session) -> None:
    """History was never touched."""
    await session.clear()
    response = session.http.post("/v1/sessions/s/checkpoints/1/revert", json={})
    assert response.status_code == 200, response.text
    session.version = view_of(session.service, "s").version
    answer = session.prepare([], adopt="never")
    assert session.context(answer) == session.messages
    assert not any(is_cleared(str(part)) for message in session.messages for part in message["content"])
