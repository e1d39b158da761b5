"""The contract in memory, small enough to be read in one go, with the faults a network and a Redis can add.

Equality is plain equality of entries; a compaction covers everything but the last two entries whenever the history
holds `compact_every` entries more than the last one covered.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

Body = dict[str, Any]


@dataclass
class Stored:
    """One session."""

    entries: list[Body] = field(default_factory=list)
    version: int = 0
    rewritten_at: int = 0
    checkpoints: list[Body] = field(default_factory=list)
    edits: list[Body] = field(default_factory=list)
    last_rewrite: tuple[Body, Body] | None = None  # request and answer


class Refusal(Exception):
    """An answer that is a problem."""

    def __init__(self, status: int, code: str, **facts: Any) -> None:
        super().__init__(code)
        self.status = status
        self.body = {"status": status, "code": code, "title": code, "detail": f"{code}.", **facts}


class FakeService:
    """Sessions by id; `fail` decides per request what goes wrong, `requests` is what came in."""

    def __init__(self, compact_every: int = 1_000) -> None:
        self.sessions: dict[str, Stored] = {}
        self.deleted: set[str] = set()
        self.compact_every = compact_every
        self.requests: list[tuple[str, str, Body, bytes]] = []
        self.refusals: list[Refusal] = []  # answers to the next prepares, one each
        self.withholds_insert = False
        self.fail: Callable[[int], str] = lambda _: (
            "answer"
        )  # number of the request -> answer|lose|refuse|503

    def transport(self) -> httpx.MockTransport:
        """Where a client, blocking or not, plugs in."""
        return httpx.MockTransport(self.handle)

    def bodies(self, call: str = "prepare") -> list[Body]:
        """The bodies of all requests for one call."""
        return [body for _, path, body, _ in self.requests if path.endswith(call)]

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer one request, unless `fail` has other plans for it."""
        body = json.loads(request.content) if request.content else {}
        self.requests.append((request.method, request.url.path, body, request.content))
        fault = self.fail(len(self.requests) - 1)
        if fault == "refuse":
            raise httpx.ConnectError("refused")
        if fault == "503":
            return httpx.Response(503, json={"code": "unavailable"}, headers={"retry-after": "1"})
        answer = self._answer(request, body)
        if fault == "lose":
            raise httpx.ReadTimeout("lost")
        return answer

    def _answer(self, request: httpx.Request, body: Body) -> httpx.Response:
        _, _, _, session_id, *call = request.url.path.split("/")
        if request.headers["authorization"] != "Bearer key":
            return httpx.Response(401, json={"code": "unauthorized", "detail": "Send a key."})
        try:
            if session_id in self.deleted:
                raise Refusal(410, "session_deleted")
            if request.method == "DELETE":
                self.deleted.add(session_id)
                return httpx.Response(204)
            return httpx.Response(200, json=self._route(session_id, "/".join(call), request, body))
        except Refusal as refusal:
            return httpx.Response(refusal.status, json=refusal.body)

    def _route(self, session_id: str, call: str, request: httpx.Request, body: Body) -> Body:
        if call == "prepare":
            return self._prepare(self.sessions.setdefault(session_id, Stored()), body)
        if session_id not in self.sessions:
            raise Refusal(404, "session_not_found")
        session = self.sessions[session_id]
        if call.startswith("checkpoints/"):
            session.checkpoints.pop()
            session.version += 1
            return self._pair(session)
        routes: dict[str, Callable[[], Body]] = {
            "rewind": lambda: self._rewind(session, body),
            "fork": lambda: self._fork(session, body),
            "history": lambda: self._history(session, dict(request.url.params)),
            "adopt": lambda: self._adopt(session, request.headers["if-match"]),
            "decline": lambda: self._pair(session),
            "compact": lambda: {"job": {"id": "j1", "kind": "manual", "state": "ready"}, "candidate": None},
        }
        return routes[call]()

    def _pair(self, session: Stored) -> Body:
        return {"history_version": session.version, "length": len(session.entries), "head": "0" * 40}

    def _prepare(self, session: Stored, body: Body) -> Body:
        if self.refusals:
            raise self.refusals.pop(0)
        self._append(session, body)
        may_adopt = body.get("adopt") != "never"
        adopted = may_adopt and len(session.entries) >= self._upto(session) + self.compact_every
        if adopted:
            self._compact(session)
        return self._stated(session, "adopted" if adopted else "fits", body.get("have"))

    def _append(self, session: Stored, body: Body) -> None:
        seen, sent = body.get("seen", {"version": 0, "length": 0}), body.get("messages", [])
        length, pair = len(session.entries), self._pair(session)
        if body.get("heal"):
            if session.last_rewrite and session.last_rewrite[0] == body:
                return
            session.version = max(session.version, seen["version"]) + 1
            session.entries, session.rewritten_at = list(sent), session.version
            session.checkpoints, session.last_rewrite = [], (body, {})
            return
        self._check_version(session, seen)
        start = seen["length"]
        if start > length:
            raise Refusal(409, "history_gap", **pair)
        held = session.entries[start:]
        common = next(
            (i for i, (a, b) in enumerate(zip(held, sent, strict=False)) if a != b), min(len(held), len(sent))
        )
        if common < len(held):
            raise Refusal(409, "history_diverged", common=start + common, **pair)
        session.entries += sent[common:]

    def _check_version(self, session: Stored, seen: Body) -> None:
        if seen["version"] > session.version:
            raise Refusal(409, "history_regressed", **self._pair(session))
        if seen["version"] < session.rewritten_at:
            raise Refusal(409, "history_rewritten", rewritten_at=session.rewritten_at, **self._pair(session))

    @staticmethod
    def _upto(session: Stored) -> int:
        return session.checkpoints[-1]["upto"] if session.checkpoints else 0

    def _compact(self, session: Stored) -> None:
        session.version += 1
        upto = len(session.entries) - 2
        summary = {"role": "user", "content": f"<conversation-summary>{upto} entries</conversation-summary>"}
        session.checkpoints.append({"id": f"c{session.version}", "upto": upto, "insert": [summary]})

    def _stated(self, session: Stored, status: str, have: str | None) -> Body:
        newest: Body = (
            session.checkpoints[-1] if session.checkpoints else {"id": None, "insert": [], "upto": 0}
        )
        numbers = {"tokens": 10, "window": 100, "limit": 80, "hard": 90, "source": "estimate"}
        context = {"checkpoint": newest["id"], "keep_from": newest["upto"], "edits": session.edits, **numbers}
        if not self.withholds_insert and (have is None or have != newest["id"]):
            context["insert"] = newest["insert"]
        generation = len(session.checkpoints)
        compaction = {"state": "idle", "reason": "below_start", "generation": generation, "job": None}
        candidate = {"id": "k1", "upto": 2, "tokens_before": 9, "tokens_after": 3}
        return {
            "status": status,
            **self._pair(session),
            "context": context,
            "compaction": {**compaction, "candidate": candidate, "advice": []},
            "request": {"headers": {}, "body": {}},
        }

    def _rewind(self, session: Stored, body: Body) -> Body:
        if session.last_rewrite and session.last_rewrite[0] == body:
            return session.last_rewrite[1]
        seen, to = body["seen"], body["to"]
        self._check_version(session, seen)
        if seen["length"] > len(session.entries):
            raise Refusal(409, "history_gap", **self._pair(session))
        if seen["length"] < len(session.entries):
            raise Refusal(412, "unseen_end", **self._pair(session))
        del session.entries[to:]
        session.version += 1
        session.rewritten_at = session.version
        popped = [point for point in session.checkpoints if point["upto"] > to]
        session.checkpoints = [point for point in session.checkpoints if point["upto"] <= to]
        answer = {**self._pair(session), "popped": len(popped)}
        session.last_rewrite = (body, answer)
        return answer

    def _fork(self, session: Stored, body: Body) -> Body:
        to = body.get("to", len(session.entries))
        self.sessions[body["id"]] = Stored(entries=session.entries[:to])
        return {"id": body["id"], **self._pair(self.sessions[body["id"]])}

    def _history(self, session: Stored, params: dict[str, str]) -> Body:
        start, to = int(params.get("from", 0)), int(params.get("to", len(session.entries)))
        page = list(enumerate(session.entries))[start:to][:3]  # short pages, so that callers must go on
        found = [(seq, entry) for seq, entry in page if params.get("grep", "") in json.dumps(entry)]
        more = start + 3 if start + 3 < to else None
        return {
            "entries": [{"seq": seq, "message": entry} for seq, entry in found],
            "next": more,
            **self._pair(session),
        }

    def _adopt(self, session: Stored, etag: str) -> Body:
        if etag != f'"{session.version}-{len(session.entries)}"':
            raise Refusal(412, "candidate_refused", reason="version_changed")
        self._compact(session)
        return self._stated(session, "adopted", None)
