"""Several writers, two APIs, one session: nothing is lost or doubled, nobody waits for a summary."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from precompact_shared.policy import Policy, ProviderName, ProviderSpec
from precompact_shared.store import reading
from precompact_shared.store.types import JobState, JobTag
from tests.support.stack import Stack
from tests.support.talk import turns, user
from tests.support.waiting import eventually

pytestmark = pytest.mark.process

WRITERS = 8
APPENDS = 20
"""For each writer."""
HELD_S = 12.0
"""Seconds the job is held open; all writers are done before (the test checks that)."""
ABOUT = {"format": "anthropic", "window": 200_000, "max_output": 8_000}
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Desk:
    """One session as seen from both API processes."""

    stack: Stack
    tenant: str
    session: str
    apis: tuple[httpx.Client, ...]

    def url(self, call: str = "") -> str:
        """Path of a call."""
        return f"/v1/sessions/{self.session}{call and '/' + call}"

    def post(self, call: str, body: Any, api: int = 0, **headers: str) -> httpx.Response:
        """One call to one of the APIs; `_` in a header's name stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.apis[api].post(self.url(call), json=body, headers=named)

    def history(self) -> list[dict[str, Any]]:
        """All entries as the service holds them."""
        page = self.apis[0].get(self.url("history")).raise_for_status().json()
        assert [entry["seq"] for entry in page["entries"]] == list(range(page["length"]))
        return [entry["message"] for entry in page["entries"]]

    def newest_job(self) -> JobTag:
        """The newest record of the session's ledger."""
        return self.stack.store.run(reading.jobs(self.stack.session(self.tenant, self.session)))[-1]

    def twice(self, ask: Callable[[int], httpx.Response]) -> list[httpx.Response]:
        """The same call to both APIs at once, and then to both once more."""
        gate = threading.Barrier(2)

        def at_once(api: int) -> httpx.Response:
            gate.wait(10)
            return ask(api)

        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(at_once, (0, 1)))
        return [*answers, ask(0), ask(1)]


@pytest.fixture
def desk(stack: Stack, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A session of its own; the policy is the test's parameter, else the default."""
    tenant, key = stack.new_tenant(getattr(request, "param", None))
    headers = {"Authorization": f"Bearer {key}"}
    clients = tuple(httpx.Client(base_url=url, headers=headers, timeout=60) for url in stack.api_urls)
    yield Desk(stack, tenant, f"shared-{next(_numbers)}", clients)
    for client in clients:
        client.close()


SLOW = Policy(providers=(ProviderSpec(name=ProviderName.SCRIPTED, delay_s=HELD_S),), keep_tokens=1_000)


@pytest.mark.parametrize("desk", [SLOW], indirect=True)
def test_eight_writers_append_while_a_job_is_held_open(desk: Desk) -> None:
    """Each append gets through, once and in its writer's order, before the job ends; then the job ends well."""
    opening = turns(40, words=4)
    made = desk.post("prepare", {**ABOUT, "seen": {"version": 0, "length": 0}, "messages": opening})
    assert made.status_code == 200, made.text
    assert desk.post("compact", {}).status_code == 202
    eventually(lambda: desk.newest_job().state is JobState.RUNNING, 20, "the job runs")

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda number: _write(desk, number), range(WRITERS)))
    assert desk.newest_job().state is JobState.RUNNING, "the job ended too early for this to prove anything"

    written = desk.history()
    assert written[: len(opening)] == opening
    _assert_once_and_in_order(written[len(opening) :])

    eventually(lambda: desk.newest_job().state is JobState.DONE, HELD_S + 20, "the job ends")
    adopted = desk.post("adopt", {})
    assert adopted.status_code == 200, adopted.text
    context = adopted.json()["context"]
    assert 0 < context["keep_from"] <= len(opening)
    assert adopted.json()["length"] == len(written)
    assert desk.history() == written


def _write(desk: Desk, number: int) -> None:
    """Half the writers append blindly with a key, half at the place they have seen, again after each 409."""
    with httpx.Client(headers=desk.apis[0].headers, timeout=60) as own:
        seen = {"version": 0, "length": 0}
        for at in range(APPENDS):
            url = str(desk.apis[(number + at) % 2].base_url).rstrip("/") + desk.url("messages")
            message = user(f"writer {number} says {at}")
            if number % 2:
                answer = own.post(
                    url, json={"messages": [message]}, headers={"Idempotency-Key": f"{number}-{at}"}
                )
                assert answer.status_code == 200, answer.text
                continue
            while (answer := own.post(url, json={"seen": seen, "messages": [message]})).status_code == 409:
                refused = answer.json()
                assert refused["code"] == "history_diverged", refused
                seen = {"version": refused["history_version"], "length": refused["length"]}
            assert answer.status_code == 200, answer.text
            seen = {"version": answer.json()["history_version"], "length": answer.json()["length"]}


def _assert_once_and_in_order(messages: list[dict[str, Any]]) -> None:
    said = [str(message["content"]) for message in messages]
    assert len(said) == WRITERS * APPENDS
    for number in range(WRITERS):
        own = [text for text in said if text.startswith(f"writer {number} ")]
        assert own == [f"writer {number} says {at}" for at in range(APPENDS)]


def test_every_call_may_be_sent_again_to_any_api(desk: Desk) -> None:
    """Four times the same call, two of them at once: one effect, and the same answer each time."""
    said = turns(30, words=4)
    _same(desk.twice(lambda api: desk.apis[api].post("/v1/sessions", json={**ABOUT, "id": desk.session})))
    first = {"seen": {"version": 0, "length": 0}, "messages": said[:40]}
    _same(desk.twice(lambda api: desk.post("prepare", first, api)))
    _same(desk.twice(lambda api: desk.post("messages", {"messages": said[40:50]}, api, Idempotency_Key="k1")))
    at_its_place = {"seen": {"version": 0, "length": 50}, "messages": said[50:]}
    _same(desk.twice(lambda api: desk.post("messages", at_its_place, api)))
    assert desk.history() == said

    to = {"seen": {"version": 0, "length": 60}, "to": 58}
    assert _same(desk.twice(lambda api: desk.post("rewind", to, api)))["history_version"] == 1
    other = user("something else")
    put = {"seen": {"version": 1, "length": 58}, "replace": {"seq": 56, "message": other}}
    assert _same(desk.twice(lambda api: desk.post("rewind", put, api)))["history_version"] == 2
    erase = {"seen": {"version": 2, "length": 58}, "redact": [57]}
    assert _same(desk.twice(lambda api: desk.post("rewind", erase, api)))["history_version"] == 3
    now = desk.history()
    assert now[:57] == [*said[:56], other]
    assert now[57] != said[57]
    assert len(now) == 58


@pytest.mark.parametrize("desk", [Policy(keep_tokens=1_000)], indirect=True)
def test_compacting_calls_may_be_sent_again_to_any_api(desk: Desk) -> None:
    """One job, one candidate, one adoption, one way back, one copy, one deletion."""
    said = turns(60, words=4)
    desk.post("prepare", {**ABOUT, "seen": {"version": 0, "length": 0}, "messages": said}).raise_for_status()
    compacted = desk.twice(lambda api: desk.post("compact", {}, api, Prefer="wait=30"))
    jobs = {answer.json()["job"]["id"] for answer in compacted[:2]}
    assert len(jobs) == 1, "two at once join"
    eventually(lambda: not desk.newest_job().is_live, 30, "the last job ends")

    head = f'"0-{len(said)}"'
    context = _same(desk.twice(lambda api: desk.post("adopt", {}, api, If_Match=head)))
    assert context["history_version"] == 1
    again = {"seen": {"version": 1, "length": len(said)}, "messages": []}
    stated = _same(desk.twice(lambda api: desk.post("prepare", again, api)))["context"]
    assert stated["insert"] == context["context"]["insert"]

    copy = {"id": f"{desk.session}-copy"}
    assert _same(desk.twice(lambda api: desk.post("fork", copy, api)))["length"] == len(said)
    undone = _same(desk.twice(lambda api: desk.post("checkpoints/1/revert", {}, api)))
    assert undone["history_version"] == 2
    assert desk.history() == said

    gone = desk.twice(lambda api: desk.apis[api].delete(desk.url()))
    assert {answer.status_code for answer in gone} <= {204, 410}
    assert [answer.status_code for answer in desk.twice(lambda api: desk.apis[api].get(desk.url()))] == [
        410
    ] * 4


def _same(answers: list[httpx.Response]) -> dict[str, Any]:
    """The body of answers that all went well and say the same of the session."""
    for answer in answers:
        assert answer.status_code in {200, 201, 202}, f"{answer.status_code}: {answer.text}"
    bodies: list[dict[str, Any]] = [answer.json() for answer in answers]
    told = [{name: body.get(name) for name in ("history_version", "length", "head", "id")} for body in bodies]
    assert all(one == told[0] for one in told), told
    return bodies[0]
