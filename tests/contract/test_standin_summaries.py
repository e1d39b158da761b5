"""The stand-in writes summaries that pass our checks, for every preset, whoever of the two providers is asked."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.preset import Preset, load_preset, preset_names
from precompact_shared.engine.summary import Accepted, check_summary, spoken
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Format
from precompact_worker.prompting import Task, first_ask, nudged
from tests.support.histories import entries_of

TURNS: list[tuple[str, str]] = [
    ("user", "Fix the login in src/auth/login.py. Never touch the schema in db/schema.sql."),
    (
        "assistant",
        "Ran `pytest tests/test_login.py`: KeyError: 'token'.\n# A heading of the agent's\n(in brackets)",
    ),
    ("user", "Also log the failure, please. Is there a limit?"),
    ("assistant", "Next I add a log line in src/auth/log.py; the limit is still open."),
]
HISTORY: list[Any] = [{"role": role, "content": text + "\nword" * 120} for role, text in TURNS * 5]


def ask_of(preset: Preset, previous: str = "") -> Any:
    """The request a worker would send."""
    part = spoken(Format.ANTHROPIC, entries_of(HISTORY), preset.summary)
    task = Task(preset=preset, part=part, number=1, of=1, previous=previous, focus=None, written_tokens=1_500)
    return first_ask(task, 3_000)


def accepted(text: str, preset: Preset) -> None:
    """Hold it against the preset."""
    covered = sum(count_text(str(message["content"])) for message in HISTORY)
    verdict = check_summary(
        text, tokens=count_text(text), covered_tokens=covered, max_tokens=2_000, preset=preset
    )
    assert isinstance(verdict, Accepted), verdict


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("provider", ["anthropic", "responses", "chat"])
def test_the_form_of_every_preset_is_filled(name: str, provider: str, claude: Any, gpt: Any) -> None:
    """In order, with what the conversation says and not with what its lines look like."""
    preset = load_preset(name)
    ask = ask_of(preset)
    turns: list[Any] = [{"role": turn.role, "content": turn.text} for turn in ask.turns]
    if provider == "anthropic":
        reply = claude.messages.create(
            model="claude-haiku-4-5", max_tokens=ask.max_tokens, system=ask.system, messages=turns
        )
        text = reply.content[0].text
    elif provider == "responses":
        text = gpt.responses.create(model="gpt-6-luna", instructions=ask.system, input=turns).output_text
    else:
        system = {"role": "developer", "content": ask.system}
        text = (
            gpt.chat.completions.create(model="gpt-6-luna", messages=[system, *turns])
            .choices[0]
            .message.content
        )
    accepted(text, preset)
    assert "A heading of the agent's" not in text
    if preset.summary.sections:
        assert "src/auth/login.py" in text


@pytest.mark.parametrize("name", preset_names())
def test_a_record_that_is_asked_for_again_has_the_same_headings(name: str, claude: Any) -> None:
    """Though the second request does not name them."""
    preset = load_preset(name)
    ask = nudged(ask_of(preset), "No record.", "It is too short.", 1_500)
    turns = [{"role": turn.role, "content": turn.text} for turn in ask.turns]
    reply = claude.messages.create(
        model="claude-haiku-4-5", max_tokens=ask.max_tokens, system=ask.system, messages=turns
    )
    accepted(reply.content[0].text, preset)


def test_a_request_on_the_live_prefix_is_filled_too(claude: Any) -> None:
    """The conversation stands before it as messages, under the agent's own system prompt."""
    preset = load_preset("precompact")
    form = ask_of(preset).turns[0].text.rpartition("</transcript>")[2]
    reply = claude.messages.create(
        model="claude-opus-5",
        max_tokens=3_000,
        system="# Tone\nBe brief. Summarize when asked.\n# Tools\nUse them.",
        messages=[*HISTORY, {"role": "user", "content": form}],
    )
    accepted(reply.content[0].text, preset)
    assert "- Fix the login in src/auth/login.py." in reply.content[0].text
