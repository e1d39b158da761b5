"""The stand-in with a script of replies, and what an agent's SDK sent it; a broken history gets the 400 it gets outside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai

from precompact_standin import Reply, Scenario, Step
from tests.support.standin import Served


@dataclass
class ScriptedProvider:
    """Where it stands, what was asked, and by which rules it refused."""

    standin: Served
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Without `/v1`."""
        return self.standin.url

    @property
    def refusals(self) -> list[str]:
        """Rules that were broken."""
        return [entry["refusal"]["rule"] for entry in self.standin.requests if "refusal" in entry]

    def anthropic_http(self) -> Any:
        """What Anthropic's SDK sends through."""
        return anthropic.DefaultHttpxClient(event_hooks={"request": [self._note]})

    def openai_http(self) -> Any:
        """What OpenAI's SDK sends through."""
        return openai.DefaultHttpxClient(event_hooks={"request": [self._note]})

    def _note(self, request: Any) -> None:
        self.requests.append(json.loads(request.read()))


def scripted_provider(standin: Served, script: Sequence[Reply]) -> ScriptedProvider:
    """A fresh one."""
    standin.play(Scenario(script=tuple(Step(reply=reply) for reply in script)))
    return ScriptedProvider(standin)
