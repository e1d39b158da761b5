"""A recording's calls through the real service, and what it said of each prompt before that was reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx

from precompact_cli.predictions import Track
from precompact_cli.recording import Recording
from precompact_shared.engine.estimate import Report

WINDOW = 1_000_000_000
AT_ONCE = 200


@dataclass
class SizedTalk:
    """One session that only grows; the caller tells of each reply's usage with the call after it."""

    http: httpx.Client
    session: str
    recording: Recording
    track: Track
    length: int = 0
    model: str | None = None
    foretold: list[dict[str, Any]] = field(default_factory=list)
    """The `context` of the answer before each reported call."""

    def play(self) -> list[dict[str, Any]]:
        """All reported calls, in order."""
        usage: dict[str, Any] | None = None
        for prefix, report in zip(self.track.prefixes, self.track.reports, strict=True):
            self.foretold.append(self._prepare(prefix, usage))
            usage = usage_body(report, prefix)
        return self.foretold

    def _prepare(self, prefix: int, usage: dict[str, Any] | None) -> dict[str, Any]:
        while True:
            upto = min(prefix, self.length + AT_ONCE)
            body: dict[str, Any] = {
                "format": self.recording.format.value,
                "model": self.recording.model,
                "window": WINDOW,
                "max_output": 1_000,
                "seen": {"version": 0, "length": self.length},
                "messages": self.recording.messages[self.length : upto],
                "adopt": "never",
                "usage": usage,
            }
            sent = {name: value for name, value in body.items() if value is not None}
            answer = self.http.post(f"/v1/sessions/{self.session}/prepare", json=sent)
            assert answer.status_code == 200, answer.text
            self.length, usage = upto, None
            if upto == prefix:
                context: dict[str, Any] = answer.json()["context"]
                return context


def usage_body(report: Report, length: int) -> dict[str, Any]:
    """The usage of a reply as a caller tells it."""
    told: dict[str, Any] = {"input_tokens": report.total, "version": 0, "length": length}
    if report.output > 0:
        told["output_tokens"] = report.output
    if report.reasoned >= 0:
        told["reasoning_tokens"] = report.reasoned
    return told | ({"server_tools": True} if report.inner_calls else {})
