"""A guard that nobody would miss is not tested: each is broken once, and the random histories must notice."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from precompact_shared.store import executor
from precompact_shared.store.executor import SyncStore
from tests.property.compare import Differs
from tests.property.mutations import FOLDER, MUTATIONS, Mutation, broken
from tests.property.play import Tally, play_one

HISTORIES = 3_000
"""Most are noticed within a few dozen; what needs three rare acts in a row takes hundreds."""


def noticed_after(store: SyncStore, histories: int, *, strict: bool) -> int | None:
    """How many histories it took until something was wrong; None when nothing was."""
    store.load()
    tally = Tally()
    for seed in range(histories):
        try:
            play_one(store, seed, tally, strict=strict)
        except (Differs, ResponseError, KeyError):
            return seed + 1
    return None


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_guard_still_stands_once_in_its_script(mutation: Mutation) -> None:
    """Else the test of it would break nothing."""
    assert (FOLDER / mutation.file).read_text(encoding="utf-8").count(mutation.pattern) == 1


def test_unbroken_scripts_are_those_that_ship() -> None:
    """The harness changes what it says it changes and nothing else."""
    source, sha = broken(None)
    for name in executor.script_names():
        assert (source(name), sha(name)) == (executor.script_source(name), executor.script_sha(name))


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_random_histories_notice_the_broken_guard(
    store: SyncStore, mutation: Mutation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the twin, or by an invariant."""
    _break(monkeypatch, mutation)
    assert noticed_after(store, HISTORIES, strict=True), f"nobody noticed: {mutation}"


@pytest.mark.slow
@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.alone], ids=str)
def test_the_invariants_notice_the_broken_guard_without_the_twin(
    store: SyncStore, mutation: Mutation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twin and scripts could share a mistake; lost, doubled and wrongly replaced entries speak for themselves."""
    _break(monkeypatch, mutation)
    assert noticed_after(store, HISTORIES, strict=False), f"no invariant noticed: {mutation}"


def _break(monkeypatch: pytest.MonkeyPatch, mutation: Mutation) -> None:
    source, sha = broken(mutation)
    monkeypatch.setattr(executor, "script_source", source)
    monkeypatch.setattr(executor, "script_sha", sha)
