"""Two readings of one set of rules, written apart: the stand-in and the engine's validator judge real histories alike."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import Severity, validate
from precompact_shared.engine.validate.request import RequestFacts
from precompact_standin import Scenario, create_app
from precompact_standin.app import ENDPOINTS
from tests.support.recordings import Recording, needs_recordings, recordings

STRICTER = ("A9b", "C0", "O0", "O14")
"""What the stand-in alone refuses, off here: blank words of the assistant, fields that the provider's own types do not
have, and sealed items that it has not made."""
HEADERS = {
    "authorization": "Bearer k",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "compact-2026-01-12",
}
ASKED: dict[str, tuple[str, dict[str, Any], str, RequestFacts]] = {
    "anthropic": (
        "/v1/messages",
        {"model": "claude-opus-4-5", "max_tokens": 10},
        "messages",
        RequestFacts(
            model="claude-opus-4-5", api_version="2023-06-01", betas=frozenset({"compact-2026-01-12"})
        ),
    ),
    "openai-responses": ("/v1/responses", {"model": "gpt-5.6-sol"}, "input", RequestFacts(store=True)),
    "openai-chat": ("/v1/chat/completions", {"model": "gpt-5.6-sol"}, "messages", RequestFacts()),
}


def judged_by_standin(content: dict[str, Any]) -> str:
    """Id of the rule the history is refused by, or ""."""
    path, body, name, _ = ASKED[content["format"]]
    app = create_app(Scenario(rules_off=STRICTER))
    (endpoint,) = (one for one in ENDPOINTS if one.path == path)
    app.serve(endpoint, HEADERS, msgspec.json.encode({**body, name: content["messages"]}))
    refusal = app.state.log.entries[-1].get("refusal")
    return str(refusal["rule"]) if refusal else ""


def judged_by_engine(content: dict[str, Any]) -> dict[str, Severity]:
    """Ids of all that was found, with the gravest severity of each."""
    facts = ASKED[content["format"]][3]
    found = validate(Format(content["format"]), content["messages"], request=facts)
    mild = {one.id: one.severity for one in found}
    return mild | {one.id: one.severity for one in found if one.severity is Severity.ERROR}


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: str(recording.name))
def test_both_take_and_refuse_the_same_recordings(recording: Recording) -> None:
    """And by a rule that both have found."""
    content = recording.load()
    by_standin, by_engine = judged_by_standin(content), judged_by_engine(content)
    assert bool(by_standin) == (Severity.ERROR in by_engine.values()), (by_standin, by_engine)
    assert not by_standin or by_standin in by_engine
