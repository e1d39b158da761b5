"""Sources larger than the summariser's window: what a server gets holds every entry once, and fits."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from precompact_shared.engine.tokens import count_text
from precompact_shared.policy import Policy
from precompact_shared.store.tenants import save_policy
from precompact_worker.tools import Ended
from tests.integration.test_worker import new_bench
from tests.integration.test_worker_providers import Office, office, record, wire
from tests.support.talk import WORDS, assistant, user
from tests.support.wires import WIRES

__all__ = ["new_bench", "office", "wire"]

MARK = re.compile(r"mark-\d+-\d+-")


def marked_talk(entries: int, marks: int) -> list[dict[str, Any]]:
    """Turns whose every sentence is told apart: entry, place."""
    said = [" ".join(f"mark-{entry}-{place}- {WORDS}" for place in range(marks)) for entry in range(entries)]
    return [assistant(text) if entry % 2 else user(text) for entry, text in enumerate(said)]


def shown(office: Office) -> list[str]:
    """The transcripts of all requests, in order."""
    asked = [office.wire.asked(one.body) for one in office.server.requests]
    return [text[text.index("<transcript ") : text.index("</transcript>")] for text in asked]


async def opened(office: Office, window: int, max_output: int, **policy: Any) -> None:
    """A summariser with such a window; no fallback."""
    await office.open(office.wire.reply(record()))
    spec = office.wire.spec(office.server.url, window=window, max_output=max_output)
    made = Policy(providers=(spec,), fallback=False, **policy)
    office.bench.store.run(save_policy(office.bench.filled.tenant, made))
    office.bench.filled.window = 1_000_000


@pytest.mark.parametrize(
    ("window", "max_output", "entries", "marks"),
    [
        pytest.param(16_384, 4_096, 45, 40, id="3 times"),
        pytest.param(8_192, 2_048, 150, 50, id="20 times", marks=pytest.mark.slow),
        pytest.param(32_768, 4_096, 4, 1_500, id="entries larger than the window"),
    ],
)
async def test_every_sentence_is_read_once_and_every_request_fits(
    office: Office, window: int, max_output: int, entries: int, marks: int
) -> None:
    """Coverage 1, by what the server got."""
    bench = office.bench
    await opened(office, window, max_output)
    bench.filled.append([*marked_talk(entries, marks), *(user(f"and {n}? {WORDS * 40}") for n in range(60))])
    job = bench.filled.claim(extra={"upto": entries})
    assert await bench.work(job) == Ended("stored"), bench.job(job).calls
    parts = shown(office)
    assert len(parts) > 2
    counted = Counter(mark for part in parts for mark in MARK.findall(part))
    expected = {f"mark-{entry}-{place}-" for entry in range(entries) for place in range(marks)}
    assert set(counted) == expected
    assert {mark for mark, times in counted.items() if times > 1} == set()
    sizes = [count_text(office.wire.asked(one.body)) for one in office.server.requests]
    assert max(sizes) + max_output < window
    [tag] = [one for one in bench.candidates() if one.slot != "floor"]
    assert tag.coverage == 1.0


async def test_a_model_is_asked_for_no_more_than_its_output_limit(office: Office) -> None:
    """In words too: what it is told to write has room in what it may write."""
    bench = office.bench
    await opened(office, 64_000, 1_024)
    bench.filled.append(marked_talk(60, 20))
    assert await bench.work(bench.filled.claim()) == Ended("stored")
    [request] = office.server.requests
    names = {"max_tokens", "max_output_tokens", "max_completion_tokens"} & request.body.keys()
    assert [request.body[name] <= 1_024 for name in names] == [True]
    words = int(re.findall(r"(\d+) words", office.wire.asked(request.body))[0])
    assert words < 1_024 * 0.6


@pytest.mark.parametrize("wire", [one for one in WIRES if one.name != "anthropic"], ids=lambda one: one.name)
async def test_a_model_that_thinks_is_asked_for_no_more_either(office: Office) -> None:
    """Room to think, which OpenAI's models need, is added up to the limit that the policy names."""
    bench = office.bench
    await office.open(office.wire.reply(record()))
    spec = office.wire.spec(office.server.url, window=64_000, max_output=2_048)
    thinks = spec.model_copy(update={"model": "gpt-5-mini"})
    bench.store.run(save_policy(bench.filled.tenant, Policy(providers=(thinks,), fallback=False)))
    bench.filled.append(marked_talk(60, 20))
    assert await bench.work(bench.filled.claim()) == Ended("stored")
    body = office.server.requests[0].body
    assert body.get("max_output_tokens", body.get("max_completion_tokens")) == 2_048
    assert "temperature" not in body
    assert "max_tokens" not in body
