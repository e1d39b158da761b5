"""Which generation is made of the originals, and what holds one back: one table, the first row that speaks decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from precompact_shared.engine.preset import load_preset, preset_names
from precompact_shared.engine.summary import Basis, Ground, choose_basis
from precompact_shared.policy import Policy

OURS = load_preset("precompact").summary
DUE = Ground(since_rebuild=3, originals_tokens=600_000, room_tokens=200_000, call_s=30)


def test_every_fourth_generation_of_ours_is_made_of_the_originals() -> None:
    """As the generations count themselves: the first is one, a rebuilt one none."""
    since, made = 0, []
    for number in range(1, 13):
        basis = choose_basis(None if number == 1 else replace(DUE, since_rebuild=since), OURS)
        since = 0 if basis.is_rebuilt else since + 1
        made += [number] if basis.is_rebuilt else []
    assert made == [4, 8, 12]


@pytest.mark.parametrize(
    ("change", "basis"),
    [
        ({}, Basis.REBUILT),
        ({"since_rebuild": 2}, Basis.NOT_YET),
        ({"since_rebuild": 9}, Basis.REBUILT),
        ({"is_refresh": True}, Basis.REFRESH),
        ({"keeps_base": True}, Basis.KEEPS_BASE),
        ({"wants_block": True}, Basis.PROVIDER_BLOCK),
        ({"originals_tokens": 2_000_001, "room_tokens": None}, Basis.TOO_LARGE),
        ({"originals_tokens": 2_000_000, "room_tokens": None}, Basis.REBUILT),
        ({"urgent": True}, Basis.SOMEBODY_WAITS),
        ({"urgent": True, "room_tokens": 600_000}, Basis.REBUILT),
        ({"urgent": True, "room_tokens": None}, Basis.REBUILT),
        ({"room_tokens": 29_000}, Basis.TOO_SLOW),
        ({"room_tokens": 30_000}, Basis.REBUILT),
        ({"call_s": 201.0}, Basis.TOO_SLOW),
        ({"left_s": 89.0}, Basis.TOO_SLOW),
        ({"left_s": 90.0}, Basis.REBUILT),
        ({"left_s": 0.0, "room_tokens": 600_000}, Basis.REBUILT),
        ({"room_tokens": 0}, Basis.TOO_SLOW),
    ],
)
def test_what_holds_a_rebuild_back(change: dict[str, Any], basis: Basis) -> None:
    """The reason is told; where a bound was met the next generation asks again, since the count goes on."""
    assert choose_basis(replace(DUE, **change), OURS) is basis


def test_the_systems_we_learned_from_never_rebuild() -> None:
    """None of them does."""
    others = [name for name in preset_names() if name != "precompact"]
    assert {choose_basis(DUE, load_preset(name).summary) for name in others} == {Basis.NEVER}


def test_a_policy_may_want_it_more_often_or_not_at_all() -> None:
    """With any preset."""
    often = Policy(preset="pi", rebuild_every=2).summary_rule
    assert choose_basis(replace(DUE, since_rebuild=1), often) is Basis.REBUILT
    bounded = Policy(preset="pi", rebuild_every=2, rebuild_max_tokens=500_000).summary_rule
    assert choose_basis(replace(DUE, since_rebuild=1), bounded) is Basis.TOO_LARGE
    assert choose_basis(DUE, Policy(rebuild_every=0).summary_rule) is Basis.NEVER
    assert Policy().summary_rule == OURS
