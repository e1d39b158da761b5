"""What the service says about a session over HTTP: candidates, jobs, checkpoints, decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from precompact_cli.exits import InputRefused
from precompact_shared.clock import monotonic_s, sleep_s
from precompact_shared.errors import Refused, Unavailable
from precompact_shared.policy import Policy

TIMEOUT_S = 15.0
SETTLE_S = 3.0
"""How long the end of a play waits for the bill of a job that still runs."""
POLL_S = 0.1


class NotAnswered(Refused):
    """The service refused; check the session's id and the key."""

    code = "not_answered"


class Records:
    """One session's records, read with a tenant's key."""

    def __init__(self, url: str, key: str, session: str) -> None:
        self._http = _connection(url, key)
        self._path = f"/v1/sessions/{quote(session, safe=':@')}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def session(self) -> dict[str, Any]:
        """Ids and numbers of the session."""
        return self._get("")

    def listed(self, what: str) -> list[dict[str, Any]]:
        """The session's `candidates`, `jobs`, `checkpoints` or `decisions`."""
        body = self._get(f"/{what}")
        found = body.get(what)
        return list(found) if isinstance(found, list) else []

    def usage(self) -> dict[str, Any]:
        """What compacting the session has used and cost so far."""
        return self._get("/usage")

    def settled_jobs(self, *, most_s: float = SETTLE_S) -> list[dict[str, Any]]:
        """The jobs once none is running any more, or as they are after `most_s`."""
        deadline_s = monotonic_s() + most_s
        while True:
            jobs = self.listed("jobs")
            if monotonic_s() >= deadline_s or all(job.get("state") != "running" for job in jobs):
                return jobs
            sleep_s(POLL_S)

    def _get(self, call: str) -> dict[str, Any]:
        return _got(self._http, self._path + call)


def read_policy(url: str, key: str) -> Policy | None:
    """The policy of the key's tenant; None for one that this version cannot read."""
    with _connection(url, key) as http:
        body = _got(http, "/v1/policy")
    try:
        return Policy.model_validate(body)
    except ValidationError:
        return None


def discarded(candidates: Sequence[Mapping[str, Any]], jobs: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Work that came to nothing, by reason: discarded candidates, and jobs that died or were cancelled.

    A floor that its own job's full candidate replaced is no waste and does not count.
    """
    reasons: Counter[str] = Counter()
    for candidate in candidates:
        if candidate.get("state") == "closed" and candidate.get("slot") != "floor":
            reasons[str(candidate.get("reason") or "unknown")] += 1
    for job in jobs:
        if job.get("state") in {"dead", "cancelled"}:
            reasons[str(job.get("reason") or job["state"])] += 1
    return dict(sorted(reasons.items()))


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        raise Unavailable("What answers at --url is not precompact; check the address.") from None
    return body if isinstance(body, dict) else {}


def _connection(url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_S)


def _got(http: httpx.Client, path: str) -> dict[str, Any]:
    try:
        answer = http.get(path)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise InputRefused("--url is no address; give one such as http://127.0.0.1:8420.") from None
    except httpx.HTTPError as error:
        raise Unavailable(
            f"The service does not answer ({type(error).__name__}); is `precompact up` running, is --url right?"
        ) from None
    body = _json(answer)
    if answer.status_code != httpx.codes.OK:
        raise NotAnswered(
            f"{body.get('title') or 'The service refused'}: {body.get('detail') or answer.status_code}"
        )
    return body
