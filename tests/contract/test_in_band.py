"""What `request` tells callers to send is what the providers take: through the SDKs, at the strict stand-in."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.in_band import InBand, Needs, request_needs
from precompact_shared.engine.types import Format

CLAUDE, GPT = "claude-opus-5-5", "gpt-6-sol"
ASKED: list[Any] = [{"role": "user", "content": "Go on."}]


def needs(wire: Format, wanted: InBand, *, has_block: bool = False) -> Needs:
    """With the limits of a window of 200,000 tokens."""
    return request_needs(wire, wanted, limit=147_600, hard=164_000, has_block=has_block)


@pytest.mark.parametrize("wanted", [InBand.NOTHING, InBand.CLEARING, InBand.THRESHOLD])
def test_anthropic_takes_headers_and_body_as_they_are(claude: Any, wanted: InBand) -> None:
    """As `extra_headers` and `extra_body`."""
    told = needs(Format.ANTHROPIC, wanted)
    reply = claude.messages.create(
        model=CLAUDE, max_tokens=300, messages=ASKED, extra_headers=told.headers, extra_body=told.body
    )
    assert reply.stop_reason == "end_turn"
    assert bool(told.body) == bool(told.headers) == (wanted is not InBand.NOTHING)


def test_a_signed_block_goes_with_clearing_but_not_with_a_threshold(claude: Any) -> None:
    """The block's own header comes first."""
    made = claude.beta.messages.create(
        model=CLAUDE,
        max_tokens=4_096,
        messages=[*ASKED, {"role": "assistant", "content": "Done."}],
        compaction={"type": "summarize"},
        betas=["compact-2026-09-04"],
    )
    opening = {"role": "assistant", "content": [made.content[0].to_dict()]}
    for wanted in InBand:
        told = needs(Format.ANTHROPIC, wanted, has_block=True)
        reply = claude.messages.create(
            model=CLAUDE,
            max_tokens=300,
            messages=[opening, *ASKED],
            extra_headers=told.headers,
            extra_body=told.body,
        )
        assert reply.stop_reason == "end_turn"
    assert needs(Format.ANTHROPIC, InBand.THRESHOLD, has_block=True).body == {}


@pytest.mark.parametrize("wanted", list(InBand))
def test_openai_takes_a_threshold(gpt: Any, wanted: InBand) -> None:
    """Responses alone has one."""
    told = needs(Format.OPENAI_RESPONSES, wanted)
    reply = gpt.responses.create(model=GPT, input=ASKED, store=False, extra_body=told.body)
    assert reply.status == "completed"
    assert bool(told.body) == (wanted is InBand.THRESHOLD)
    assert needs(Format.OPENAI_CHAT, wanted) == Needs()


def test_triggers_keep_to_what_providers_accept() -> None:
    """Small windows."""
    small = request_needs(Format.ANTHROPIC, InBand.THRESHOLD, limit=9_000, hard=10_000, has_block=False)
    assert small.body["context_management"]["edits"][0]["trigger"]["value"] == 50_000
