"""What a worker prepares is shaped by the tenant's preset: where it cuts, what it keeps, what it puts in front."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.preset import preset_names
from precompact_shared.engine.projection import context_edits
from precompact_shared.engine.types import Entry, Format
from precompact_shared.engine.validate import validate
from precompact_shared.store.types import CandidateTag, JobKind
from tests.integration.test_worker import EXTRACTIVE, Bench, bench, new_bench  # noqa: F401
from tests.support.talk import assistant, call, result, turns, user

WORK = "a long output of the tool, line by line " * 200


def loop(steps: int) -> list[dict[str, Any]]:
    """One turn of the user with many calls; about 2,000 tokens each."""
    said = [user("rewrite the parser")]
    for step in range(steps):
        said += [call(f"c{step}"), result(f"c{step}", f"{step}: {WORK}")]
    return [*said, assistant("the parser is rewritten")]


async def prepared(
    made: Bench, messages: list[dict[str, Any]], **fields: Any
) -> tuple[CandidateTag, dict[str, Any]]:
    """The candidate of one job on this conversation, and its body."""
    made.policy(EXTRACTIVE, **fields)
    made.filled.append(messages)
    await made.work(made.filled.claim(JobKind.SPECULATIVE))
    [tag] = made.candidates()
    return tag, made.body(tag.cid)


def said(message: dict[str, Any]) -> str:
    """The text of a message."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@pytest.mark.parametrize("preset", preset_names())
async def test_every_preset_prepares_a_valid_context(bench: Bench, preset: str) -> None:  # noqa: F811
    """Twenty short turns and a long tool loop, a window of 32,000."""
    messages = [*turns(20, words=12), *loop(14), user("and now?")]
    tag, body = await prepared(bench, messages, preset=preset)
    tail = [Entry(seq, one, 1) for seq, one in enumerate(messages)][tag.upto :]
    edits = context_edits(Format.ANTHROPIC, tail)
    context = apply_context(messages, body["insert"], tag.upto, edits)
    assert validate(Format.ANTHROPIC, context) == ()
    assert tag.preset == preset
    assert context[-1] == messages[-1]


async def test_codex_keeps_the_user_texts_and_no_tail(bench: Bench) -> None:  # noqa: F811
    """The summary is last, the user's own words stand in front of it; a second run keeps those of the first."""
    messages = [one for number in range(20) for one in (user(f"request {number} "), assistant(WORK))]
    tag, body = await prepared(bench, messages, preset="codex")
    assert tag.upto == len(messages)
    requests = [f"request {number} " for number in range(20)]
    assert [said(one) for one in body["insert"][:-1]] == requests
    assert said(body["insert"][-1]).startswith('<conversation-summary preset="codex/1">')
    bench.adopt(tag)
    bench.filled.append([user("one more "), assistant(WORK), assistant(WORK)])
    await bench.work(bench.filled.claim(JobKind.SPECULATIVE))
    [again] = bench.candidates()
    kept = [said(one) for one in bench.body(again.cid)["insert"][:-1]]
    assert kept == [*requests, "one more "]


async def test_a_divided_turn_has_a_summary_of_its_own_head(bench: Bench) -> None:  # noqa: F811
    """The request of the turn is told under its own heading, earlier requests are not."""
    messages = [*turns(5, words=4), *loop(30)]
    _, body = await prepared(bench, messages, preset="pi")
    history, _, head = body["summary"].partition("# Head of the turn that goes on below")
    assert "rewrite the parser" in head
    assert "rewrite the parser" not in history
    assert "request 0" in history
    assert "request 0" not in head


async def test_a_run_by_hand_on_one_exchange_works_where_the_preset_does_so(bench: Bench) -> None:  # noqa: F811
    """OpenCode covers all there is; our own preset finds nothing to do."""
    bench.policy(EXTRACTIVE, preset="opencode")
    bench.filled.append([user("explain the parser"), assistant(WORK)])
    await bench.work(bench.filled.claim(JobKind.MANUAL))
    [tag] = bench.candidates()
    assert tag.upto == 2
