"""Sessions, history and compaction by hand."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from precompact_shared.store import tenants
from tests.support.candidates import put, summary_message, view_of
from tests.support.service import Service
from tests.support.talk import assistant, call, result, turns, user
from tests.support.waiting import eventually

NEW = {"format": "anthropic", "window": 4_000, "max_output": 200}


@pytest.fixture
def session(http: httpx.Client) -> str:
    """A session of five turns."""
    answer = http.post("/v1/sessions/s/prepare", json={**NEW, "messages": turns(5, words=3)})
    assert answer.status_code == 200
    return "/v1/sessions/s"


def code(response: httpx.Response) -> tuple[int, str]:
    """Status and code of a problem."""
    return response.status_code, response.json()["code"]


def test_creating_twice_is_harmless(http: httpx.Client) -> None:
    """201, then 200; another format is refused."""
    body = {"id": "made", **NEW, "parent": "root"}
    first, again = http.post("/v1/sessions", json=body), http.post("/v1/sessions", json=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["parent"] == "root"
    assert (first.json()["history_version"], first.json()["length"], first.headers["etag"]) == (0, 0, '"0-0"')
    assert code(http.post("/v1/sessions", json=body | {"format": "openai-chat"})) == (409, "format_fixed")
    other = http.post(
        "/v1/sessions/made/prepare", json={**NEW, "format": "openai-chat", "messages": turns(1)}
    )
    assert code(other) == (409, "format_fixed")
    assert http.get("/v1/sessions/made").json()["length"] == 0


def test_a_deleted_session_is_gone_until_it_is_recreated_on_purpose(http: httpx.Client, session: str) -> None:
    """410 for everything; `recreate` begins above the tombstone."""
    http.post(f"{session}/rewind", json={"seen": {"version": 0, "length": 10}, "to": 4})
    assert http.delete(session).status_code == 204
    assert code(http.delete(session)) == (410, "session_deleted")
    assert code(http.get(session)) == (410, "session_deleted")
    assert code(http.post(f"{session}/prepare", json={**NEW, "messages": turns(1)})) == (
        410,
        "session_deleted",
    )
    assert code(http.post("/v1/sessions", json={"id": "s", **NEW})) == (410, "session_deleted")
    revived = http.post("/v1/sessions", json={"id": "s", **NEW, "recreate": True})
    assert revived.status_code == 201
    assert revived.json()["history_version"] == 2
    assert revived.json()["length"] == 0


def test_appending_says_what_was_new(http: httpx.Client, session: str) -> None:
    """Overlapping entries that are equal are skipped."""
    body = {"seen": {"version": 0, "length": 8}, "messages": [*turns(5, words=3)[8:], user("more")]}
    answer = http.post(f"{session}/messages", json=body)
    assert answer.json() == {
        "length": 11,
        "history_version": 0,
        "head": answer.json()["head"],
        "appended": 1,
        "tokens": answer.json()["tokens"],
    }
    assert answer.headers["etag"] == '"0-11"'


def test_eight_writers_with_keys_lose_and_double_nothing(http: httpx.Client, session: str) -> None:
    """Each call is sent twice; every entry is there once."""

    def write(number: int) -> None:
        body = {"messages": [user(f"from writer {number}")]}
        for _ in range(2):
            assert http.post(
                f"{session}/messages", json=body, headers={"Idempotency-Key": f"w{number}"}
            ).is_success

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    page = http.get(f"{session}/history", params={"from": 10}).json()
    said = sorted(entry["message"]["content"] for entry in page["entries"])
    assert said == sorted(f"from writer {number}" for number in range(40))


def test_rewind_replace_and_redact(http: httpx.Client, session: str) -> None:
    """Each moves the version; a repeated request gets the first answer."""
    body = {"seen": {"version": 0, "length": 10}, "to": 6}
    first, again = (http.post(f"{session}/rewind", json=body).json() for _ in range(2))
    assert first == again
    assert (first["length"], first["history_version"]) == (6, 1)
    seen = {"version": 1, "length": 6}
    replaced = {"seen": seen, "replace": {"seq": 5, "message": assistant("better")}}
    assert http.post(f"{session}/rewind", json=replaced).json()["history_version"] == 2
    redact = {"seen": {"version": 2, "length": 6}, "redact": [0, 5]}
    assert http.post(f"{session}/rewind", json=redact).json()["history_version"] == 3
    entries = http.get(f"{session}/history").json()["entries"]
    assert entries[0]["message"] == user("[redacted]")
    assert entries[5]["message"] == assistant("[redacted]")
    whole = {"seen": {"version": 3, "length": 6}, "view": "history", "messages": turns(5, words=3)[:5]}
    matched = http.post(
        f"{session}/prepare", json=whole | {"messages": [*whole["messages"], assistant("better")]}
    )
    assert (matched.json()["length"], matched.json()["history_version"]) == (6, 3)


def test_a_rewind_asks_for_one_thing(http: httpx.Client, session: str) -> None:
    """Exactly one of to, replace, redact."""
    for part in ({}, {"to": 1, "redact": [1]}):
        body = {"seen": {"version": 0, "length": 10}, **part}
        assert code(http.post(f"{session}/rewind", json=body)) == (400, "invalid_request")
    beyond = {"seen": {"version": 0, "length": 10}, "redact": [10]}
    assert code(http.post(f"{session}/rewind", json=beyond)) == (409, "history_gap")
    unseen = {"seen": {"version": 0, "length": 9}, "to": 2}
    assert code(http.post(f"{session}/rewind", json=unseen)) == (412, "unseen_end")


def test_a_redacted_call_and_result_stay_paired(http: httpx.Client) -> None:
    """Placeholders keep roles, types and call ids."""
    news = [user("go"), call("t1"), result("t1", "secret"), assistant("done")]
    http.post("/v1/sessions/s/prepare", json={**NEW, "messages": news})
    body = {"seen": {"version": 0, "length": 4}, "redact": [1, 2]}
    assert http.post("/v1/sessions/s/rewind", json=body).status_code == 200
    answer = http.post("/v1/sessions/s/prepare", json={"render": True}).json()
    call_part, result_part = (answer["context"]["messages"][at]["content"][0] for at in (1, 2))
    assert call_part == {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    assert result_part == {"type": "tool_result", "tool_use_id": "t1", "content": "[redacted]"}
    assert answer["context"]["edits"] == []


def test_history_is_read_page_by_page(http: httpx.Client, session: str) -> None:
    """A page holds at least one entry and says where the next begins."""
    read, at = [], 0
    while at is not None:
        page = http.get(f"{session}/history", params={"from": at, "max_tokens": 200}).json()
        assert page["entries"]
        read += [entry["seq"] for entry in page["entries"]]
        at = page["next"]
    assert read == list(range(10))
    part = http.get(f"{session}/history", params={"from": 2, "to": 4}).json()
    assert [entry["message"] for entry in part["entries"]] == turns(5, words=3)[2:4]
    found = http.get(f"{session}/history", params={"grep": "REQUEST 3"}).json()
    assert [entry["seq"] for entry in found["entries"]] == [6]
    assert http.get(f"{session}/history", params={"from": 99}).json()["entries"] == []


def test_a_fork_has_entries_and_checkpoints_up_to_its_point(
    http: httpx.Client, session: str, service: Service
) -> None:
    """Idempotent by id; the copy goes its own way."""
    cid = put(service, "s", upto=4)
    adopted = http.post(f"{session}/adopt", json={"candidate": cid}).json()
    assert adopted["status"] == "adopted"
    made = http.post(f"{session}/fork", json={"id": "copy", "to": 8})
    assert (made.status_code, made.json()["length"], made.json()["checkpoint"]) == (201, 8, cid)
    assert made.json()["history_version"] == 0
    assert http.post(f"{session}/fork", json={"id": "copy", "to": 8}).status_code == 200
    body = {"seen": {"version": 0, "length": 8}, "messages": [user("elsewhere")]}
    answer = http.post("/v1/sessions/copy/prepare", json=body).json()
    assert answer["context"]["insert"] == [summary_message("What happened so far.")]
    assert answer["context"]["keep_from"] == 4
    early = http.post(f"{session}/fork", json={"id": "early", "to": 3}).json()
    assert (early["checkpoint"], early["length"]) == (None, 3)
    assert code(http.post(f"{session}/fork", json={"id": "late", "to": 11})) == (409, "history_gap")
    assert http.get("/v1/sessions/late").status_code == 404


def test_a_manual_compaction_is_waited_for(http: httpx.Client, session: str, service: Service) -> None:
    """202 with the job; `Prefer: wait` answers with its candidate when it is done in time."""
    answers: list[httpx.Response] = []

    def wait() -> None:
        answers.append(http.post(f"{session}/compact", json={"focus": "a"}, headers={"Prefer": "wait=20"}))

    waiting = threading.Thread(target=wait)
    waiting.start()
    job = eventually(lambda: view_of(service, "s").job)
    assert job is not None
    joined = http.post(f"{session}/compact", json={"focus": "a"})
    assert joined.status_code == 202
    assert joined.json()["job"] == {"id": job.jid, "kind": "manual", "state": "ready"}
    refused = http.post(f"{session}/compact", json={"focus": "b"})
    assert code(refused) == (409, "in_flight")
    assert refused.json()["job"] == job.jid
    cid = put(service, "s", upto=4, job=job)
    waiting.join(15)
    assert answers[0].status_code == 200, answers[0].text
    assert answers[0].json()["job"]["state"] == "done"
    assert answers[0].json()["candidate"]["id"] == cid
    assert http.post(f"{session}/adopt", json={}).json()["context"]["checkpoint"] == cid


def test_a_dry_run_tells_where_it_would_cut(http: httpx.Client, session: str) -> None:
    """And makes no job."""
    told = http.post(f"{session}/compact", json={"dry_run": True}).json()
    assert 0 < told["upto"] < 10
    assert told["tokens_covered"] + told["tokens_kept"] == http.get(session).json()["history_tokens"]
    assert (told["provider"], told["model"], told["cost_usd"]) == ("extractive", None, 0.0)
    by_hand = http.post(f"{session}/compact", json={"dry_run": True, "upto": told["upto"]}).json()
    assert by_hand == told
    assert http.get(f"{session}/jobs").json()["jobs"] == []


def test_reverting_goes_back_one_checkpoint(http: httpx.Client, session: str, service: Service) -> None:
    """Only the newest; the candidate is barred; the same call again gets the same answer."""
    cid = put(service, "s", upto=4)
    http.post(f"{session}/adopt", json={"candidate": cid})
    assert [tag["cid"] for tag in http.get(f"{session}/checkpoints").json()["checkpoints"]] == [cid]
    wrong = http.post(f"{session}/checkpoints/2/revert", json={})
    assert code(wrong) == (409, "not_newest")
    assert wrong.json()["newest"] == 1
    first = http.post(f"{session}/checkpoints/1/revert")
    again = http.post(f"{session}/checkpoints/1/revert", json={})
    assert first.json() == again.json()
    assert first.json()["history_version"] == 2
    assert http.get(session).json()["checkpoint"] is None
    barred = http.post(f"{session}/adopt", json={"candidate": cid})
    assert (barred.status_code, barred.json()["reason"]) == (412, "barred")


def test_what_happened_can_be_seen(http: httpx.Client, session: str, service: Service) -> None:
    """Candidates, jobs and decisions, without text."""
    cid = put(service, "s", upto=4)
    http.post(f"{session}/adopt", json={"candidate": cid})
    assert [tag["state"] for tag in http.get(f"{session}/candidates").json()["candidates"]] == ["adopted"]
    assert [job["state"] for job in http.get(f"{session}/jobs").json()["jobs"]] == ["done"]
    kinds = [decision["kind"] for decision in http.get(f"{session}/decisions").json()["decisions"]]
    assert "adopted" in kinds
    everything = "".join(
        http.get(f"{session}/{what}").text for what in ("candidates", "jobs", "decisions", "checkpoints")
    )
    assert "request" not in everything.replace("requested", "")


def test_a_policy_is_merged_on_the_default_and_takes_effect(http: httpx.Client, session: str) -> None:
    """Validated as a whole; the version counts up."""
    assert http.get("/v1/policy").json()["version"] == 1
    wanted: dict[str, Any] = {"limit_share": 0.5, "windows": {"mine": {"window": 5000, "max_output": 100}}}
    saved = http.put("/v1/policy", json=wanted).json()
    assert (saved["version"], saved["limit_share"], saved["preset"]) == (2, 0.5, "precompact")
    answer = http.post(
        f"{session}/prepare", json={"seen": {"version": 0, "length": 10}, "messages": []}
    ).json()
    assert answer["context"]["limit"] == answer["context"]["hard"] // 2
    body = {"format": "anthropic", "model": "mine-2", "messages": turns(1)}
    assert http.post("/v1/sessions/m/prepare", json=body).json()["context"]["window"] == 5000
    for wrong in (
        {"limit_share": 7},
        {"start_low": 0.9, "start_high": 0.1},
        {"windows": {"x": {"window": 1}}},
    ):
        assert code(http.put("/v1/policy", json=wrong)) == (400, "invalid_request")
    assert http.get("/v1/policy").json()["version"] == 2


def test_tenants_and_keys(http: httpx.Client, service: Service) -> None:
    """An admin makes tenants and issues keys; scopes hold."""
    made = http.post("/v1/tenants", json={"tenant": f"{service.tenant}-new"})
    assert made.status_code == 201
    assert code(http.post("/v1/tenants", json={"tenant": f"{service.tenant}-new"})) == (409, "tenant_exists")
    assert code(http.post("/v1/tenants", json={"tenant": "a/b"})) == (400, "invalid_tenant")
    new = {"Authorization": f"Bearer {made.json()['key']}"}
    body = {**NEW, "messages": turns(1)}
    assert httpx.post(f"{service.base_url}/v1/sessions/s/prepare", json=body, headers=new).status_code == 200
    assert code(httpx.post(f"{service.base_url}/v1/tenants", json={"tenant": "x"}, headers=new)) == (
        403,
        "forbidden",
    )
    ops_key = http.post("/v1/keys", json={"scopes": ["ops"]}).json()["key"]
    ops = {"Authorization": f"Bearer {ops_key}"}
    http.post("/v1/sessions/s/prepare", json=body)
    assert httpx.get(f"{service.base_url}/v1/sessions/s", headers=ops).status_code == 200
    assert code(httpx.get(f"{service.base_url}/v1/sessions/s/history", headers=ops)) == (403, "forbidden")
    assert code(http.post("/v1/keys", json={"scopes": ["platform"]})) == (403, "forbidden")
    assert code(http.post("/v1/keys", json={"tenant": "somebody"})) == (403, "forbidden")


def test_a_platform_key_acts_for_the_tenant_it_names(
    http: httpx.Client, service: Service, session: str
) -> None:
    """Its own tenant's key may not."""
    issued = tenants.issue_key("platform", frozenset({tenants.Scope.AGENT, tenants.Scope.PLATFORM}))
    service.store.run_all([tenants.create_tenant("platform"), issued.op])
    headers = {"Authorization": f"Bearer {issued.secret}", "Precompact-Tenant": service.tenant}
    url = f"{service.base_url}{session}"
    assert httpx.get(url, headers=headers).json()["length"] == 10
    assert code(httpx.get(url, headers=headers | {"Precompact-Tenant": "nobody-there"})) == (403, "forbidden")
    own = {"Authorization": f"Bearer {issued.secret}"}
    assert code(httpx.get(url, headers=own)) == (404, "session_not_found")


def test_an_adoption_without_if_match_survives_appends_in_between(
    http: httpx.Client, session: str, service: Service
) -> None:
    """Rule 10: only the length moved, so the new entries are looked at and it is tried again."""
    cid = put(service, "s", upto=4)

    def append(number: int) -> None:
        body = {"messages": [user(f"in between {number}")]}
        assert http.post(
            f"{session}/messages", json=body, headers={"Idempotency-Key": f"k{number}"}
        ).is_success

    with ThreadPoolExecutor(4) as pool:
        writing = pool.map(append, range(20))
        adopted = http.post(f"{session}/adopt", json={"candidate": cid})
        list(writing)
    assert adopted.status_code == 200 or adopted.json()["reason"] == "length_moved"
    again = http.post(f"{session}/adopt", json={"candidate": cid})
    assert (again.status_code, again.json()["history_version"]) == (200, 1)
    assert http.get(session).json()["length"] == 30


def test_the_document_describes_every_call(http: httpx.Client) -> None:
    """Also the hot ones, with their bodies."""
    document = http.get("/openapi.json").json()
    prepare = document["paths"]["/v1/sessions/{session}/prepare"]["post"]
    assert prepare["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("PrepareBody")
    assert "PrepareBody" in document["components"]["schemas"]
    assert "/v1/sessions/{session}/history" in document["paths"]
    assert document["paths"]["/healthz"]["get"].get("security") is None


def test_probes_and_metrics_need_no_key(service: Service, session: str) -> None:
    """And show no ids."""
    for path in ("/healthz", "/readyz", "/metrics"):
        assert httpx.get(service.base_url + path).status_code == 200
    metrics = httpx.get(f"{service.base_url}/metrics").text
    assert 'precompact_prepares_total{status="fits"}' in metrics
    assert service.tenant not in metrics
