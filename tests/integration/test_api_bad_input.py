"""Bad input: a clear 4xx with a stable code, nothing stored by halves, no input text in the answer or the log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from redis import Redis

from precompact_shared.redis_server import EmbeddedRedis
from tests.support.service import ApiProcess, Service, service_for
from tests.support.talk import turns
from tests.support.waiting import eventually

SECRET = "xylophone-4711"
PREPARE = "/v1/sessions/s/prepare"
NEW = '{"format":"anthropic","window":9000,"messages":'


def refused(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem, if it is the one that is wanted and says nothing of the input."""
    assert (response.status_code, response.json()["code"]) == (status, code), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert SECRET not in response.text
    assert response.json()["detail"]
    problem: dict[str, Any] = response.json()
    return problem


def said(text: str) -> str:
    """A body with one message whose content is this JSON text."""
    return f'{NEW}[{{"role":"user","content":{text}}}]}}'


BROKEN = {
    "cut off": NEW + '[{"role":"user","content":"' + SECRET,
    "not json": SECRET,
    "two objects": said('"a"') + said(f'"{SECRET}"'),
    "NaN": said("NaN"),
    "Infinity": said("[Infinity]"),
    "raw null byte": said(f'"{SECRET}\x00"'),
    "lone high surrogate": said(f'"{SECRET} \\ud800"'),
    "lone low surrogate": said(f'"\\udc00 {SECRET}"'),
    "lone surrogate in a key": NEW + f'[{{"role":"user","content":"{SECRET}","\\ud83d":1}}]}}',
    "number out of range": said("[1e999]"),
    "open bracket": NEW + "[",
    "wrong bracket": NEW + "[}",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_json_is_refused(http: httpx.Client, body: str) -> None:
    """And the session it would have made is not there."""
    refused(http.post(PREPARE, content=body.encode("utf-8", "surrogatepass")), 400, "invalid_json")
    assert http.get("/v1/sessions/s").status_code == 404


def test_invalid_utf8_is_refused(http: httpx.Client) -> None:
    """Bytes that are no text."""
    for content in (said('"\xff\xfe"').encode("latin-1"), b"\xff\xfe{}"):
        refused(http.post(PREPARE, content=content), 400, "invalid_json")
    assert http.get("/v1/sessions/s").status_code == 404


WRONG = {
    "messages is text": ({"messages": SECRET}, "$.messages"),
    "message is text": ({"messages": [SECRET]}, "$.messages[0]"),
    "message is null": ({"messages": [None]}, "$.messages[0]"),
    "no role": ({"messages": [{"content": SECRET}]}, "$.messages[0].role"),
    "unknown role": ({"messages": [{"role": SECRET, "content": ""}]}, "$.messages[0].role"),
    "content is a number": ({"messages": [{"role": "user", "content": 1}]}, "$.messages[0].content"),
    "part without type": (
        {"messages": [{"role": "user", "content": [{"x": SECRET}]}]},
        "$.messages[0].content[0].type",
    ),
    "second is wrong": ({"messages": [*turns(1), {"role": "user"}]}, "$.messages[2].content"),
    "unknown field": ({"messages": [], SECRET: 1}, "$"),
    "unknown format": ({"format": SECRET}, "$.format"),
    "window zero": ({"window": 0}, "$.window"),
    "window is text": ({"window": SECRET}, "$.window"),
    "wait too long": ({"wait": 601}, "$.wait"),
    "wait negative": ({"wait": -1}, "$.wait"),
    "adopt unknown": ({"adopt": SECRET}, "$.adopt"),
    "open_calls unknown": ({"open_calls": {SECRET: "maybe"}}, "$.open_calls[...]"),
    "pinned beyond": ({"messages": turns(1), "pinned": [2]}, "$.pinned"),
    "pinned negative": ({"messages": turns(1), "pinned": [-1]}, "$.pinned[0]"),
    "seen negative": ({"seen": {"version": -1, "length": 0}}, "$.seen.version"),
    "seen 2^63": ({"seen": {"version": 0, "length": 2**63}}, "$.seen.length"),
    "seen 2^200": ({"seen": {"version": 2**200, "length": 0}}, "$.seen.version"),
    "seen is text": ({"seen": {"version": "0", "length": 0}}, "$.seen.version"),
    "seen is a list": ({"seen": [0, 0]}, "$.seen"),
    "seen is half": ({"seen": {"version": 0}}, "$.seen"),
    "seen is a fraction": ({"seen": {"version": 0, "length": 0.5}}, "$.seen.length"),
    "usage negative": ({"usage": {"input_tokens": -5, "version": 0}}, "$.usage.input_tokens"),
    "body is a list": ([SECRET], "$"),
}


@pytest.mark.parametrize(("body", "where"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_request_names_the_place(http: httpx.Client, body: Any, where: str) -> None:
    """The JSON path of what is wrong, never its value; nothing is stored."""
    if isinstance(body, dict):
        body = {"format": "anthropic", "window": 9000} | body
    problem = refused(http.post(PREPARE, json=body), 400, "invalid_request")
    assert problem["where"] == where
    assert http.get("/v1/sessions/s").status_code == 404


def test_a_bad_message_in_the_middle_stores_none_of_the_others(http: httpx.Client) -> None:
    """All or nothing."""
    http.post(PREPARE, json={"format": "anthropic", "window": 9000, "messages": turns(1)})
    body = {"seen": {"version": 0, "length": 2}, "messages": [*turns(3, start=1), {"role": "user"}]}
    refused(http.post("/v1/sessions/s/messages", json=body), 400, "invalid_request")
    assert http.get("/v1/sessions/s").json()["length"] == 2


@pytest.mark.parametrize("depth", [65, 1_000, 100_000])
def test_deep_nesting_is_refused_without_being_parsed(http: httpx.Client, depth: int) -> None:
    """Also as objects, in a message and beside it."""
    for opened, closed in (("[", "]"), ('{"a":', "}")):
        deep = opened * depth + "1" + closed * depth
        refused(http.post(PREPARE, content=said(deep)), 400, "too_deep")
        refused(http.post(PREPARE, content=f'{{"x":{deep}}}'), 400, "too_deep")
    assert http.get("/v1/sessions/s").status_code == 404
    response = http.post(PREPARE, content=NEW + "[" * depth)
    assert response.status_code == 400


def test_brackets_in_text_are_not_nesting(http: httpx.Client) -> None:
    """Code is full of them."""
    text = '"' + "[{" * 5_000 + '\\"' + "[" * 5_000 + '"'
    assert http.post(PREPARE, content=said(text)).status_code == 200


def test_a_wide_list_is_not_deep(http: httpx.Client) -> None:
    """Many parts in one message."""
    parts = ",".join(['{"type":"text","text":"a"}'] * 2_000)
    assert http.post(PREPARE, content=said(f"[{parts}]")).status_code == 200


def test_duplicate_keys_are_kept_as_sent(http: httpx.Client) -> None:
    """JSON allows them; the last one counts and the bytes stay."""
    twice = '{"role":"assistant","role":"user","content":"a"}'
    assert http.post(PREPARE, content=f"{NEW}[{twice}]}}").status_code == 200
    assert twice in http.get("/v1/sessions/s/history").text


def test_an_escaped_null_is_content(http: httpx.Client) -> None:
    """Tool output holds such things; the bytes stay."""
    assert http.post(PREPARE, content=said('"a\\u0000b"')).status_code == 200
    assert "a\\u0000b" in http.get("/v1/sessions/s/history").text


def test_a_body_of_fifty_megabytes_is_refused(http: httpx.Client) -> None:
    """With a content length at once, without one as soon as the limit is passed."""
    body = said('"' + "a" * 50_000_000 + '"').encode()
    refused(http.post(PREPARE, content=body), 413, "body_too_large")

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(body), 1_000_000):
            yield body[at : at + 1_000_000]

    with contextlib.suppress(httpx.WriteError):  # the server may close before all was sent
        refused(http.post(PREPARE, content=pieces()), 413, "body_too_large")
    assert http.get("/v1/sessions/s").status_code == 404
    assert http.get("/healthz").status_code == 200


def test_other_calls_have_the_same_limits(http: httpx.Client) -> None:
    """Control calls read bodies by the same guards."""
    deep = "[" * 1_000 + "]" * 1_000
    for path in ("/v1/sessions", "/v1/sessions/s/rewind", "/v1/sessions/s/compact", "/v1/tenants"):
        refused(http.post(path, content=f'{{"x":{deep}}}'), 400, "too_deep")
        refused(http.post(path, content="{" + SECRET), 400, "invalid_json")
        refused(http.post(path, json={SECRET: SECRET}), 400, "invalid_request")
    refused(http.put("/v1/policy", json={SECRET: SECRET}), 400, "invalid_request")
    refused(http.put("/v1/policy", json={"preset": SECRET}), 400, "invalid_request")
    refused(http.get("/v1/sessions/s/history", params={"from": SECRET}), 400, "invalid_request")


@pytest.mark.parametrize(
    "name", ["-a", "a b", "a%00b", "a%0Ab", "%ED%A0%80", "%FF", "a" * 201, "%F0%9F%98%80"]
)
def test_a_session_id_that_is_none_is_refused(http: httpx.Client, name: str) -> None:
    """Null bytes, line breaks, surrogates and foreign letters never reach a key."""
    refused(http.post(f"/v1/sessions/{name}/prepare", json={}), 400, "invalid_session_id")
    refused(http.get(f"/v1/sessions/{name}"), 400, "invalid_session_id")


def test_an_unknown_session_is_not_found(http: httpx.Client) -> None:
    """A call that could not create it."""
    bodies: dict[str, dict[str, Any]] = {"messages": {"messages": []}, "decline": {"candidate": "c1"}}
    for path in ("prepare", "messages", "adopt", "compact", "decline"):
        response = http.post(f"/v1/sessions/nobody/{path}", json=bodies.get(path, {}))
        refused(response, 404, "session_not_found")
    refused(http.get("/v1/sessions/nobody"), 404, "session_not_found")
    refused(http.delete("/v1/sessions/nobody"), 404, "session_not_found")


def test_another_tenants_session_is_not_found(
    http: httpx.Client, api_process: ApiProcess, redis_client: Redis, tenant: str
) -> None:
    """As if it were not there, whatever the call."""
    http.post(PREPARE, json={"format": "anthropic", "window": 9000, "messages": turns(1)})
    stranger = service_for(api_process, redis_client, f"{tenant}-other")
    with stranger.client() as other:
        refused(other.get("/v1/sessions/s"), 404, "session_not_found")
        refused(other.get("/v1/sessions/s/history"), 404, "session_not_found")
        refused(other.post(PREPARE, json={}), 404, "session_not_found")
        refused(other.delete("/v1/sessions/s"), 404, "session_not_found")
    assert http.get("/v1/sessions/s").json()["length"] == 2


def test_without_a_valid_key_nothing_is_said(service: Service) -> None:
    """401 for none, an unknown one, and other schemes; 403 for another tenant's name."""
    for value in (None, f"Bearer {SECRET}", "Bearer", f"Basic {SECRET}", "Bearer " + "x" * 5_000):
        headers = {} if value is None else {"Authorization": value}
        response = httpx.post(f"{service.base_url}{PREPARE}", json={}, headers=headers)
        refused(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"
    named = {**service.headers, "Precompact-Tenant": "somebody-else"}
    refused(httpx.get(f"{service.base_url}/v1/sessions/s", headers=named), 403, "forbidden")


def test_unknown_paths_and_methods_are_problems_too(http: httpx.Client) -> None:
    """The same shape everywhere."""
    refused(http.get(f"/v1/{SECRET}"), 404, "not_found")
    refused(http.put(PREPARE, json={}), 405, "method_not_allowed")


def test_too_many_messages_are_refused(
    start_api: Callable[..., ApiProcess], redis_client: Redis, tenant: str
) -> None:
    """The list limit is a setting; so are the limits of a session."""
    api = start_api(list_limit=4, session_entries_limit=6)
    service = service_for(api, redis_client, tenant)
    with service.client() as client:
        body = {"format": "anthropic", "window": 9000, "messages": turns(3)}
        assert refused(client.post(PREPARE, json=body), 413, "too_many")["limit"] == 4
        assert client.post(PREPARE, json=body | {"messages": turns(2)}).status_code == 200
        seen = {"version": 0, "length": 4}
        full = client.post("/v1/sessions/s/messages", json={"seen": seen, "messages": turns(2, start=2)})
        refused(full, 413, "session_full")
        assert client.get("/v1/sessions/s").json()["length"] == 4


def test_no_input_reaches_the_log(http: httpx.Client, service: Service) -> None:
    """Not of good calls and not of bad ones."""
    http.post(
        PREPARE,
        json={"format": "anthropic", "window": 9000, "messages": [{"role": "user", "content": SECRET}]},
    )
    http.post(PREPARE, content=said(f'"{SECRET}'))
    http.get("/v1/sessions/s/history", params={"grep": SECRET})
    http.get(f"/v1/sessions/{SECRET} {SECRET}")
    http.post(f"/v1/sessions/s/prepare?{SECRET}", json={"seen": SECRET})
    log = service.log.read_text()
    assert SECRET not in log
    assert service.key not in log


def test_a_store_that_does_not_answer_is_503(
    start_api: Callable[..., ApiProcess], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With Retry-After, and ready again when the store is back."""
    with EmbeddedRedis(tmp_path_factory.mktemp("own"), appendonly=True) as server:
        api = start_api(state_redis_url=server.url, broker_url=server.url_of(1))
        with Redis.from_url(server.url) as client:
            service = service_for(api, client, "solo")
        with service.client() as http:
            body: dict[str, Any] = {"format": "anthropic", "window": 9000, "messages": turns(1)}
            assert http.post(PREPARE, json=body).status_code == 200
            server.kill()
            response = http.post(PREPARE, json={"seen": {"version": 0, "length": 2}})
            refused(response, 503, "unavailable")
            assert response.headers["retry-after"] == "1"
            refused(http.get("/readyz"), 503, "unavailable")
            assert http.get("/healthz").status_code == 200
            server.start()
            eventually(lambda: http.get("/readyz").status_code == 200, deadline_s=20)
            body["seen"] = {"version": 0, "length": 0}
            again = eventually(lambda: _answered(http, body), deadline_s=20)
            assert (again["length"], again["history_version"]) == (2, 0)


def _answered(http: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    response = http.post(PREPARE, json=body)
    answer: dict[str, Any] = response.json() if response.status_code == 200 else {}
    return answer
