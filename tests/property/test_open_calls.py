"""A Responses session whose calls are never answered: what every entry remembers stays small, in the real store."""

from __future__ import annotations

from typing import Any

from redis import Redis

from precompact_shared.engine.pairing import MOST_OPEN
from precompact_shared.engine.types import Format
from precompact_shared.engine.versions.links import links_of
from precompact_shared.engine.versions.values import Entry
from precompact_shared.store import SyncStore, fix_layout, reading
from tests.support.filling import Filled

CALLS = 3 * MOST_OPEN


def call(number: int) -> dict[str, Any]:
    """A call, ids repeat."""
    return {"type": "function_call", "call_id": f"c{number % 100}", "name": "f", "arguments": "{}"}


def expected(length: int) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """What the pure twin says of so many calls: open and given up."""
    links = links_of(
        "openai-responses",
        [Entry(digest="", tokens=1, role="a", calls=(f"function:c{n % 100}",)) for n in range(length)],
    )
    return list(links.open), list(links.dead)


def test_open_calls_are_bounded_and_a_rewind_restores_them(redis_client: Redis, tenant: str) -> None:
    """As the twin says, at the end and wherever a rewind goes; an entry's record does not grow."""
    store = SyncStore(redis_client)
    filled = Filled(store, fix_layout(redis_client, 4), tenant, "r", format=Format.OPENAI_RESPONSES)
    view = filled.append([call(number) for number in range(CALLS)])
    assert (list(view.open), list(view.dead)) == expected(CALLS)
    assert len(view.open) == MOST_OPEN
    [early, late] = store.run(reading.metas(filled.keys, [MOST_OPEN, CALLS - 1]))
    assert early is not None
    assert late is not None
    assert len(late.open) < 1.3 * len(early.open)
    for length in (CALLS - 10, MOST_OPEN + 5, MOST_OPEN, 3):
        view = filled.rewind(length)
        assert (list(view.open), list(view.dead)) == expected(length)
