"""The one call per model call: what it records, when it adopts, what it states."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest

from precompact.splice import apply_context
from precompact_shared.store.types import JobKind
from tests.support.candidates import claim, put, summary_message, view_of
from tests.support.service import Service
from tests.support.talk import assistant, call, result, turns, user
from tests.support.waiting import eventually

SMALL = {"format": "anthropic", "window": 3_265, "max_output": 200}
"""hard = 3000 tokens, limit = 2700; `turns(10, words=4)` are 2160, three more are above the limit."""


class Agent:
    """A caller that keeps its own list, as every agent does."""

    def __init__(self, http: httpx.Client, session: str, **fixed: Any) -> None:
        self.http, self.session, self.fixed = http, session, {**SMALL, **fixed}
        self.messages: list[dict[str, Any]] = []
        self.version = self.length = 0

    def post(self, news: list[dict[str, Any]], **options: Any) -> httpx.Response:
        """Sends news; the response as it is."""
        self.messages += news
        body = {**self.fixed, "seen": {"version": self.version, "length": self.length}, "messages": news}
        return self.http.post(f"/v1/sessions/{self.session}/prepare", json=body | options)

    def prepare(self, news: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        """Sends news and takes over what the answer says."""
        response = self.post(news, **options)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        assert response.headers["etag"] == f'"{answer["history_version"]}-{answer["length"]}"'
        self.version, self.length = answer["history_version"], answer["length"]
        return answer

    def context(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """The stated context, spliced from the own list."""
        stated = answer["context"]
        return apply_context(self.messages, stated["insert"], stated["keep_from"], stated["edits"])


@pytest.fixture
def agent(http: httpx.Client) -> Agent:
    """An agent of session `s`."""
    return Agent(http, "s")


def test_a_new_session_is_created_and_states_its_own_list(agent: Agent) -> None:
    """Without a checkpoint the context is the list itself."""
    answer = agent.prepare(turns(1))
    assert (answer["status"], answer["length"], answer["history_version"]) == ("fits", 2, 0)
    assert answer["context"]["checkpoint"] is None
    assert agent.context(answer) == agent.messages
    assert answer["compaction"]["state"] == "idle"
    assert answer["context"]["source"] == "estimate"


def test_the_same_call_again_gets_the_same_answer(agent: Agent) -> None:
    """A retry with `seen` adds nothing."""
    news = turns(2)
    first = agent.post(news).json()
    agent.version = agent.length = 0
    again = agent.post(news).json()
    assert first == again


def test_messages_are_stored_as_they_were_sent(http: httpx.Client, service: Service) -> None:
    """Spaces, key order, escapes and numbers come back byte for byte."""
    sent = '{ "content" : "caf\\u00e9 1.0" ,"role":"user", "x": 1.50e2, "y":[ 1,2 ] }'
    body = f'{{"format":"openai-chat","window":9000,"messages":[{sent}]}}'
    assert http.post("/v1/sessions/raw/prepare", content=body).status_code == 200
    assert sent in http.get("/v1/sessions/raw/history").text
    rendered = http.post("/v1/sessions/raw/prepare", json={"render": True}).text
    assert sent in rendered


def test_without_seen_an_existing_session_wants_an_idempotency_key(agent: Agent, http: httpx.Client) -> None:
    """A retry must not add twice, so a call without `seen` names itself."""
    agent.prepare(turns(1))
    body = {"messages": turns(1, start=1)}
    refused = http.post("/v1/sessions/s/prepare", json=body)
    assert (refused.status_code, refused.json()["code"]) == (428, "idempotency_key_required")
    headers = {"Idempotency-Key": "k1"}
    answers = [http.post("/v1/sessions/s/prepare", json=body, headers=headers).json() for _ in range(3)]
    assert [answer["length"] for answer in answers] == [4, 4, 4]


def test_an_unknown_window_is_refused_and_nothing_is_created(http: httpx.Client) -> None:
    """A limit that can never be kept is said, not guessed."""
    body = {"format": "anthropic", "model": "nobody-knows-me", "messages": turns(1)}
    refused = http.post("/v1/sessions/w/prepare", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "window_unknown")
    assert http.get("/v1/sessions/w").status_code == 404


def test_a_known_model_needs_no_window(http: httpx.Client) -> None:
    """The table of well-known models helps out."""
    body = {"format": "anthropic", "model": "claude-sonnet-4-5", "messages": turns(1)}
    answer = http.post("/v1/sessions/w/prepare", json=body).json()
    assert answer["context"]["window"] == 200_000


def test_a_gap_says_where_to_go_on(agent: Agent) -> None:
    """A caller who is ahead learns the length the service holds."""
    agent.prepare(turns(2))
    agent.length = 7
    refused = agent.post(turns(1))
    assert refused.status_code == 409
    assert {k: refused.json()[k] for k in ("code", "length", "history_version")} == {
        "code": "history_gap",
        "length": 4,
        "history_version": 0,
    }


def test_another_writers_entries_are_a_divergence_with_the_common_length(
    agent: Agent, http: httpx.Client
) -> None:
    """Rule 20: a caller who lacks entries is told, and nothing is adopted."""
    agent.prepare(turns(1))
    other = Agent(http, "s")
    other.length = 2
    other.prepare(turns(1, start=7))
    refused = agent.post([])
    assert (refused.status_code, refused.json()["code"], refused.json()["common"]) == (
        409,
        "history_diverged",
        2,
    )
    refused = agent.post(turns(1, start=3))
    assert (refused.json()["code"], refused.json()["common"]) == ("history_diverged", 2)
    assert http.get("/v1/sessions/s").json()["length"] == 4


def test_a_rewritten_history_refuses_those_who_have_not_seen_it(agent: Agent, http: httpx.Client) -> None:
    """Rule 2."""
    agent.prepare(turns(2))
    seen = {"version": 0, "length": 4}
    done = http.post("/v1/sessions/s/rewind", json={"seen": seen, "to": 2}).json()
    assert (done["length"], done["history_version"]) == (2, 1)
    refused = agent.post([])
    assert (refused.status_code, refused.json()["code"]) == (409, "history_rewritten")
    assert refused.json()["rewritten_at"] == 1


def test_a_service_that_lost_its_newest_writes_is_healed_by_the_whole_list(agent: Agent) -> None:
    """A caller whose version is above ours sends everything, and the version rises above both."""
    agent.prepare(turns(2))
    agent.version = 5
    refused = agent.post([])
    assert (refused.status_code, refused.json()["code"]) == (409, "history_regressed")
    news = turns(1, start=2)
    agent.messages += news
    body = {**SMALL, "seen": {"version": 5, "length": 6}, "view": "history", "heal": True}
    healed = agent.http.post("/v1/sessions/s/prepare", json=body | {"messages": agent.messages})
    assert (healed.json()["length"], healed.json()["history_version"]) == (6, 6)


def test_a_session_lost_as_a_whole_is_healed_too(agent: Agent) -> None:
    """The version is above what the caller saw, also when the session had to be made anew."""
    body = {
        **SMALL,
        "seen": {"version": 3, "length": 4},
        "view": "history",
        "heal": True,
        "messages": turns(2),
    }
    healed = agent.http.post("/v1/sessions/lost/prepare", json=body)
    assert healed.status_code == 200, healed.text
    assert (healed.json()["length"], healed.json()["history_version"]) == (4, 4)


def test_usage_becomes_the_base_of_the_size(agent: Agent) -> None:
    """The provider's count, plus an estimate of what came after."""
    first = agent.prepare(turns(1))
    usage = {"input_tokens": 900, "version": 0, "length": 2}
    answer = agent.prepare([assistant("fine")], usage=usage)
    assert answer["context"]["source"] == "usage"
    assert 900 < answer["context"]["tokens"] < 920
    assert first["context"]["tokens"] < 100


def test_below_the_limit_a_candidate_waits(agent: Agent, service: Service) -> None:
    """It is shown as ready and changes nothing."""
    agent.prepare(turns(4, words=2))
    cid = put(service, "s", upto=4)
    answer = agent.prepare(turns(1, start=4))
    assert (answer["status"], answer["compaction"]["state"]) == ("fits", "ready")
    assert answer["compaction"]["candidate"]["id"] == cid
    assert answer["context"]["checkpoint"] is None


def test_at_the_limit_a_candidate_is_adopted_without_waiting(agent: Agent, service: Service) -> None:
    """The statement puts the insert in place of what it covers and keeps the rest."""
    agent.prepare(turns(10, words=4))
    cid = put(service, "s", upto=10)
    answer = agent.prepare(turns(3, start=10, words=4))
    assert answer["status"] == "adopted"
    assert answer["context"]["checkpoint"] == cid
    assert answer["history_version"] == 1
    assert answer["compaction"]["generation"] == 1
    assert agent.context(answer) == [summary_message("What happened so far."), *agent.messages[10:]]
    assert answer["context"]["tokens"] < 2_700
    again = agent.prepare([], have=cid)
    assert "insert" not in again["context"]
    assert (again["context"]["checkpoint"], again["context"]["keep_from"]) == (cid, 10)
    rendered = agent.prepare([], render=True)
    assert rendered["context"]["messages"] == agent.context(rendered)


def test_a_candidate_without_seen_is_not_adopted(agent: Agent, service: Service) -> None:
    """A caller that does not say what it holds only looks."""
    agent.prepare(turns(10, words=4))
    put(service, "s", upto=10)
    agent.http.post(
        "/v1/sessions/s/messages", json={"seen": {"version": 0, "length": 20}, "messages": turns(3, words=4)}
    )
    answer = agent.http.post("/v1/sessions/s/prepare", json={}).json()
    assert (answer["context"]["checkpoint"], answer["compaction"]["reason"]) == (None, "seen_missing")


def test_adopt_never_leaves_a_ready_candidate_alone(agent: Agent, service: Service) -> None:
    """The caller's word counts."""
    agent.prepare(turns(10, words=4))
    put(service, "s", upto=10)
    answer = agent.prepare(turns(3, start=10, words=4), adopt="never")
    assert (answer["status"], answer["compaction"]["state"]) == ("fits", "ready")
    assert answer["history_version"] == 0


def test_an_offered_candidate_is_adopted_by_a_call_of_its_own(agent: Agent, service: Service) -> None:
    """`adopt: offer`, then POST adopt with If-Match; the same call again is harmless."""
    agent.prepare(turns(10, words=4))
    cid = put(service, "s", upto=10)
    offered = agent.prepare(turns(2, start=10, words=4), adopt="offer")
    assert offered["compaction"]["candidate"]["id"] == cid
    assert offered["history_version"] == 0
    stale = agent.http.post("/v1/sessions/s/adopt", json={"candidate": cid}, headers={"If-Match": '"0-3"'})
    assert (stale.status_code, stale.json()["reason"]) == (412, "length_moved")
    headers = {"If-Match": f'"0-{offered["length"]}"'}
    first = agent.http.post("/v1/sessions/s/adopt", json={"candidate": cid}, headers=headers)
    assert (first.status_code, first.json()["status"]) == (200, "adopted")
    again = agent.http.post("/v1/sessions/s/adopt", json={"candidate": cid}, headers=headers)
    assert again.json()["context"] == first.json()["context"]
    assert again.json()["history_version"] == 1


def test_a_declined_candidate_is_gone_for_good(agent: Agent, service: Service) -> None:
    """Declining twice is harmless; adopting it afterwards is refused with the reason."""
    agent.prepare(turns(10, words=4))
    cid = put(service, "s", upto=10)
    for _ in range(2):
        assert agent.http.post("/v1/sessions/s/decline", json={"candidate": cid}).status_code == 200
    refused = agent.http.post("/v1/sessions/s/adopt", json={"candidate": cid})
    assert (refused.status_code, refused.json()["reason"]) == (412, "declined")
    unknown = agent.http.post("/v1/sessions/s/adopt", json={"candidate": "cnobody"})
    assert (unknown.status_code, unknown.json()["reason"]) == (412, "unknown")


def test_at_hard_with_nothing_ready_the_answer_is_overflow_and_a_job_runs(
    agent: Agent, service: Service
) -> None:
    """Nothing is waited for when the caller does not allow it."""
    answer = agent.prepare(turns(14, words=5))
    assert answer["status"] == "overflow"
    assert answer["compaction"]["state"] == "preparing"
    job = view_of(service, "s").job
    assert job is not None
    assert job.kind is JobKind.DUE
    again = agent.prepare([])
    assert again["compaction"]["job"]["id"] == job.jid


def test_at_hard_a_running_job_is_joined_and_its_candidate_adopted(agent: Agent, service: Service) -> None:
    """Rule 13: the status says that somebody waited, and for how long."""
    agent.prepare([])
    body = {"seen": {"version": 0, "length": 0}, "messages": turns(14, words=5)}
    agent.messages, agent.length = turns(14, words=5), 28
    assert agent.http.post("/v1/sessions/s/messages", json=body).status_code == 200
    answers: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: answers.append(agent.prepare([], wait=20)))
    waiting.start()
    job = eventually(lambda: view_of(service, "s").job)
    put(service, "s", upto=20, job=job)
    waiting.join(15)
    assert answers[0]["status"] == "waited"
    assert answers[0]["compaction"]["blocked_s"] < 15
    jobs = agent.http.get("/v1/sessions/s/jobs").json()["jobs"]
    assert len(jobs) == 1


def test_when_the_wait_is_spent_the_floor_is_taken(agent: Agent, service: Service) -> None:
    """`reduced`: the deterministic candidate, while the job goes on."""
    agent.prepare(turns(14, words=5))
    job = claim(service, "s", JobKind.DUE)
    put(service, "s", upto=20, job=job, floor=True)
    answer = agent.prepare([], wait=0.2)
    assert answer["status"] == "reduced"
    assert answer["compaction"]["blocked_s"] >= 0.2
    assert answer["context"]["keep_from"] == 20


def test_below_hard_a_floor_is_never_taken(agent: Agent, service: Service) -> None:
    """It is for the last resort only."""
    agent.prepare(turns(10, words=5))
    put(service, "s", upto=10, floor=True)
    answer = agent.prepare(turns(1, start=10, words=3))
    assert answer["status"] == "fits"
    assert answer["history_version"] == 0


def test_a_refused_request_starts_one_overflow_job(agent: Agent, service: Service) -> None:
    """Overflow runs once per refused state, and the observed limit becomes the hard one."""
    agent.prepare(turns(6, words=4))
    first = agent.prepare([], overflow=True)
    assert first["status"] == "overflow"
    assert view_of(service, "s").job is not None
    assert first["compaction"]["job"]["kind"] == "overflow"
    agent.prepare([], overflow=True)
    assert len(agent.http.get("/v1/sessions/s/jobs").json()["jobs"]) == 1
    put(service, "s", upto=6, job=view_of(service, "s").job)
    assert agent.prepare([], overflow=True)["status"] == "adopted"


def test_a_manual_job_goes_before_a_ready_candidate_while_the_caller_waits(
    agent: Agent, service: Service
) -> None:
    """Rule 17; once the wait is spent, the ready one is taken."""
    agent.prepare(turns(10, words=4))
    put(service, "s", upto=10)
    started = agent.http.post("/v1/sessions/s/compact", json={"focus": "the parser"})
    assert started.status_code == 202, started.text
    answer = agent.prepare(turns(3, start=10, words=4), wait=0.3)
    assert answer["status"] == "waited"
    assert answer["context"]["keep_from"] == 10


def test_thinking_of_the_kept_tail_is_edited_out_and_stays_out(agent: Agent, service: Service) -> None:
    """A11: signed thinking may not follow a summary a client made. The edits are in every later answer."""
    agent.prepare(turns(10, words=4))
    put(service, "s", upto=10)
    thought = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "so"}],
    }
    answer = agent.prepare([user("why"), thought, *turns(3, start=11, words=4)])
    assert answer["status"] == "adopted"
    assert answer["context"]["edits"] == [{"seq": 21, "part": 0, "value": None}]
    assert {"role": "assistant", "content": [{"type": "text", "text": "so"}]} in agent.context(answer)
    later = agent.prepare([user("and"), thought])
    assert later["context"]["edits"] == answer["context"]["edits"]


def test_frozen_edits_do_not_touch_entries_that_took_the_place_of_others(
    agent: Agent, service: Service
) -> None:
    """After a rewind other entries stand at the edited place; they keep all their parts."""
    agent.prepare(turns(10, words=4))
    put(service, "s", upto=10)
    thought = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "so"}],
    }
    adopted = agent.prepare([user("why"), thought, *turns(3, start=11, words=4)])
    assert adopted["context"]["edits"]
    seen = {"version": agent.version, "length": agent.length}
    done = agent.http.post("/v1/sessions/s/rewind", json={"seen": seen, "to": 20}).json()
    agent.version, agent.length = done["history_version"], done["length"]
    del agent.messages[20:]
    two = {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    answer = agent.prepare([user("other"), two])
    assert answer["context"]["edits"] == []
    assert answer["context"]["checkpoint"] == adopted["context"]["checkpoint"]


def test_a_call_without_a_result_gets_one_unless_it_is_pending(agent: Agent) -> None:
    """No open call leaves prepare; a mark says that its answer will come."""
    agent.prepare([user("read it"), call("t1")], adopt="never")
    answer = agent.prepare([])
    assert agent.context(answer)[-1]["content"][0]["tool_use_id"] == "t1"
    pending = agent.prepare([], open_calls={"t1": "pending"})
    assert pending["context"]["edits"] == []
    settled = agent.prepare([result("t1")])
    assert settled["context"]["edits"] == []


def test_a_dead_call_and_an_orphaned_result_are_repaired(agent: Agent) -> None:
    """What a provider would refuse is put right in the context; history keeps it."""
    answer = agent.prepare([user("go"), call("t1"), user("no, stop"), assistant("ok"), result("t9")])
    context = agent.context(answer)
    assert context[2] == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": "no result was recorded for this call",
                "is_error": True,
            }
        ],
    }
    assert context[-1] == assistant("ok")
    assert answer["length"] == 5


def test_chat_calls_of_both_kinds_are_paired(agent: Agent) -> None:
    """A chat result does not say what kind of call it answers."""
    chat = Agent(agent.http, "chat", format="openai-chat")
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    function = {"id": "f1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = chat.prepare(
        [
            user("go"),
            {"role": "assistant", "content": None, "tool_calls": [custom, function]},
            {"role": "tool", "tool_call_id": "c1", "content": "a"},
        ]
    )
    assert [message.get("tool_call_id") for message in chat.context(answer)[2:]] == ["f1", "c1"]


def test_a_whole_list_that_shrank_rewinds_to_the_common_part(agent: Agent) -> None:
    """`view: history` of a framework that keeps the list itself."""
    agent.prepare(turns(3))
    shorter = [*agent.messages[:4], user("something else")]
    body = {"seen": {"version": 0, "length": 6}, "view": "history", "messages": shorter}
    answer = agent.http.post("/v1/sessions/s/prepare", json=body).json()
    assert (answer["length"], answer["history_version"]) == (5, 1)
    again = agent.http.post("/v1/sessions/s/prepare", json=body).json()
    assert (again["length"], again["history_version"]) == (5, 1)


def test_a_whole_list_may_not_remove_what_its_sender_has_not_seen(agent: Agent, http: httpx.Client) -> None:
    """412, and nothing is removed."""
    agent.prepare(turns(3))
    body = {"seen": {"version": 0, "length": 4}, "view": "history", "messages": turns(2)[:3]}
    refused = http.post("/v1/sessions/s/prepare", json=body)
    assert (refused.status_code, refused.json()["code"]) == (412, "unseen_end")
    assert http.get("/v1/sessions/s").json()["length"] == 6


def _adopted(agent: Agent, service: Service) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    agent.prepare(turns(10, words=4))
    put(service, "s", upto=10)
    thought = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "so"}],
    }
    answer = agent.prepare([user("why"), thought, *turns(3, start=11, words=4)])
    assert answer["status"] == "adopted"
    return answer, agent.context(answer)


@pytest.mark.parametrize("view", ["context", "history"])
def test_our_own_context_with_news_is_recognised_and_never_rewinds(
    agent: Agent, service: Service, view: str
) -> None:
    """A framework that takes over our context as its own list sends it back; only the news is added."""
    answer, context = _adopted(agent, service)
    body = {
        "seen": {"version": answer["history_version"], "length": answer["length"]},
        "view": view,
        "messages": [*context, user("news"), assistant("yes")],
    }
    response = agent.http.post("/v1/sessions/s/prepare", json=body)
    assert response.status_code == 200, response.text
    assert response.json()["length"] == answer["length"] + 2
    assert response.json()["history_version"] == answer["history_version"]
    assert agent.http.post("/v1/sessions/s/prepare", json=body).json()["length"] == answer["length"] + 2


def test_a_context_with_a_changed_tail_is_a_divergence(agent: Agent, service: Service) -> None:
    """It never rewinds."""
    answer, context = _adopted(agent, service)
    context[-1] = user("changed")
    body = {"seen": {"version": 1, "length": answer["length"]}, "view": "context", "messages": context}
    refused = agent.http.post("/v1/sessions/s/prepare", json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "history_diverged")
    assert refused.json()["common"] == answer["length"] - 1


def test_our_summary_inside_a_history_is_refused(agent: Agent, service: Service) -> None:
    """`projection_given`: as news, and in a list that does not open with it."""
    _, context = _adopted(agent, service)
    refused = agent.post([summary_message("What happened so far.")])
    assert (refused.status_code, refused.json()["code"]) == (409, "projection_given")
    for messages in ([user("first"), *context], [summary_message("never ours"), *context[1:]]):
        body = {"seen": {"version": 1, "length": 28}, "view": "history", "messages": messages}
        refused = agent.http.post("/v1/sessions/s/prepare", json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "projection_given")


def test_a_context_without_a_checkpoint_is_the_history(agent: Agent) -> None:
    """Before the first adoption both views are the same list."""
    first = agent.http.post("/v1/sessions/s/prepare", json={**SMALL, "view": "context", "messages": turns(1)})
    assert (first.status_code, first.json()["length"]) == (200, 2)
    more = agent.http.post("/v1/sessions/s/prepare", json={"view": "context", "messages": turns(2)})
    assert (more.status_code, more.json()["length"]) == (200, 4)


def test_advice_says_what_a_caller_can_do(agent: Agent) -> None:
    """A little over hard: the request would fit with less output."""
    agent.fixed |= {"window": 4_000, "max_output": 2_000}
    answer = agent.prepare(turns(11, words=4))
    assert answer["status"] == "overflow"
    assert "lower_max_output" in answer["compaction"]["advice"]


def test_every_answer_is_one_json_object_without_a_tail(agent: Agent) -> None:
    """Bytes on the wire do not grow with the history."""
    small = agent.post(turns(1)).content
    agent.length = 2
    agent.prepare(turns(5, start=1, words=10))
    large = agent.post([]).content
    assert len(large) < len(small) + 200
    assert json.loads(large)["length"] == 12
