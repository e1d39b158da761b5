"""`demo --provider`: summaries through the providers' own SDKs, against a stand-in that comes and goes with the demo."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from precompact_cli.restating import MODEL
from tests.e2e.running import interrupt, last_json, left_in, run, started
from tests.support.waiting import eventually
from tests.unit.cli.conversations import agent_session, chat_session, responses_session, write

pytestmark = pytest.mark.process

SESSIONS = {
    "anthropic": ("claude-sonnet-4-5", agent_session),
    "openai-chat": ("gpt-5.4", chat_session),
    "openai-responses": ("gpt-5.4", responses_session),
}
FAST = ("--speed", "200", "--json")
SECRET = "sk-a-key-that-must-not-leave"


def session_file(folder: Path, wire: str, turns: int = 40) -> Path:
    """A session of about 20,000 tokens in which every entry comes ten seconds after the last."""
    model, made = SESSIONS[wire]
    body = {"format": wire, "model": model, "messages": made(turns), "usage": []}
    return write(folder / f"{wire}.json", body)


def figures_of(folder: Path, *args: str | Path) -> dict[str, Any]:
    """The figures of a demo that went well and left nothing."""
    code, out, told = run("demo", *args, *FAST, folder=folder)
    assert (code, told) == (0, "")
    assert out.count("\n") == 1
    assert left_in(folder) == []
    assert list((folder / "a folder").iterdir()) == []
    figures = last_json(out)
    assert (figures["lost"], figures["doubled"], figures["valid"]) == (0, 0, True)
    assert figures["compactions"] >= 1
    assert figures["standin"]
    return figures


@pytest.mark.parametrize(
    ("provider", "model", "wire"),
    [
        ("anthropic", "claude-haiku-4-5", "anthropic"),
        ("openai", "gpt-5.4-mini", "openai-chat"),
        pytest.param("anthropic", "claude-haiku-4-5", "openai-responses", marks=pytest.mark.slow),
    ],
)
def test_a_provider_writes_the_summaries_of_any_session(
    tmp_path: Path, provider: str, model: str, wire: str
) -> None:
    """Its SDK is called, every record passes the checks, nobody else has to help; the bill is told by price class."""
    figures = figures_of(tmp_path, session_file(tmp_path, wire), "--provider", provider, "--standin")
    assert (figures["format"], figures["provider"], figures["model"]) == (wire, provider, model)
    assert (figures["mode"], figures["preset"], figures["summariser_s"]) == ("transcript", "precompact", 20)
    assert set(figures["written_by"]) == {provider}
    assert (figures["failed_calls"], figures["failures"]) == (0, {})
    assert figures["summary_calls"] >= figures["compactions"]
    assert set(figures["summary_tokens"]) == {"input", "cache_read", "cache_write", "output"}
    assert sum(figures["summary_tokens"].values()) > 10_000
    assert figures["summary_tokens"]["output"] > 0
    assert figures["cost_usd"] > 0
    assert figures["unpriced_calls"] == 0


@pytest.mark.slow
def test_the_provider_compacts_by_itself_where_the_preset_wants_its_block(tmp_path: Path) -> None:
    """On the session's own model; every context with the block in it is one the provider would take."""
    options = ("--provider", "anthropic", "--standin", "--preset", "anthropic-native")
    figures = figures_of(tmp_path, session_file(tmp_path, "anthropic"), *options)
    assert (figures["mode"], figures["model"]) == ("native", "claude-sonnet-4-5")
    assert set(figures["written_by"]) == {"anthropic"}


@pytest.mark.slow
def test_without_a_file_openais_block_is_tried_on_the_sample_in_openais_words(tmp_path: Path) -> None:
    """The sample was written as messages of Anthropic's; its items are compacted by `/responses/compact`."""
    code, out, told = run(
        *("demo", "--provider", "openai", "--standin", "--preset", "openai-native"),
        *("--speed", "500", "--json"),
        folder=tmp_path,
    )
    assert (code, told) == (0, "")
    figures = last_json(out)
    assert (figures["format"], figures["mode"], figures["model"]) == ("openai-responses", "native", MODEL)
    assert (figures["lost"], figures["doubled"], figures["valid"]) == (0, 0, True)
    assert figures["compactions"] >= 1
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--provider", "anthropic"), "set ANTHROPIC_API_KEY, or add --standin"),
        (("--provider", "openai"), "set OPENAI_API_KEY, or add --standin"),
        (("--standin",), "go with --provider"),
        (("--model", "x"), "go with --provider"),
        (("--preset", "nobodys"), "no preset of that name"),
        (("--preset", "openai-native"), "add --provider openai"),
        (("--preset", "anthropic-native", "--provider", "openai", "--standin"), "add --provider anthropic"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(
    tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    """Exit code 2, one line, what to do."""
    code, out, told = run("demo", *options, folder=tmp_path)
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert says in told
    assert list((tmp_path / "a folder").iterdir()) == []


def test_a_block_is_refused_where_the_session_is_in_other_words(tmp_path: Path) -> None:
    """A chat session has no block of OpenAI's."""
    options = ("--provider", "openai", "--standin", "--preset", "openai-native")
    code, _, told = run("demo", session_file(tmp_path, "openai-chat", 2), *options, folder=tmp_path)
    assert code == 2
    assert "compacts openai-responses sessions, this one is openai-chat" in told


@pytest.mark.slow
def test_a_provider_that_cannot_be_reached_is_told_and_code_takes_over(tmp_path: Path) -> None:
    """Nothing answers at the address; the play goes on with summaries by code, and the figures say so."""
    env = {"PRECOMPACT_OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    file = session_file(tmp_path, "openai-chat")
    code, out, told = run("demo", file, "--provider", "openai", "--speed", "200", folder=tmp_path, env=env)
    assert code == 0, told
    figures = last_json(out)
    assert (figures["lost"], figures["doubled"], figures["valid"]) == (0, 0, True)
    assert figures["failed_calls"] >= 1
    assert "openai" not in figures["written_by"]
    assert re.search(r"failed: \d+ openai", told)


def test_a_stopped_demo_takes_its_stand_in_along_and_sends_it_no_real_key(tmp_path: Path) -> None:
    """The worker has a key that opens nothing."""
    options = ("--provider", "anthropic", "--standin", "--speed", "5")
    env = {"ANTHROPIC_API_KEY": SECRET}
    with started("demo", session_file(tmp_path, "anthropic"), *options, folder=tmp_path, env=env) as process:
        eventually(lambda: len(left_in(tmp_path, ["precompact_standin"])) == 1, 60, "the stand-in")
        [worker, *_] = eventually(lambda: left_in(tmp_path, ["precompact_worker"]), 60, "a worker")
        assert worker.environ()["ANTHROPIC_API_KEY"] != SECRET
        interrupt(process, group=False)
        process.communicate(timeout=60)
        assert process.returncode == 130
        eventually(lambda: not left_in(tmp_path), 10, "the end of every child")
