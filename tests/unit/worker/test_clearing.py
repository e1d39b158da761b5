"""What a job knows of cleared entries: sizes in front of a cut."""

from __future__ import annotations

import pytest

from precompact_shared.engine.types import Edit, Entry
from precompact_shared.store.types import SessionView
from precompact_worker.snapshot import Base, Held, Snapshot

VIEW = SessionView(
    tenant="t",
    session="s",
    incarnation=1,
    format="anthropic",
    version=1,
    rewritten_at=0,
    length=6,
    head="",
    tokens=48,
    insert_tokens=-12,
)


@pytest.mark.parametrize(("upto", "tokens"), [(2, 20), (3, 25), (4, 35), (5, 38), (6, 48)])
def test_a_saving_counts_only_in_front_of_the_cut(upto: int, tokens: int) -> None:
    """The insert's size holds all savings, 5 at entry 2 and 7 at entry 4; entries of 10 tokens each."""
    snapshot = Snapshot(
        view=VIEW,
        base=Base(),
        entries=tuple(Entry(seq, {"role": "user", "content": "x"}, 10) for seq in range(6)),
        chains=("",) * 6,
        pinned=(),
        replaced_before=-12,
        held=Held(edits=(Edit(2), Edit(4)), saved=((2, 5), (4, 7)), through=5),
    )
    assert snapshot.tokens_before(upto) == tokens
