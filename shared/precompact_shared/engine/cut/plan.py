"""The place to take: walk back from the newest entry until the keep budget is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from precompact_shared.engine.cut.choices import CHOICES, last_exchange
from precompact_shared.engine.cut.outcome import Cut, CutReason, Skip, SkipReason
from precompact_shared.engine.cut.places import Places
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.preset import Boundary, CutRule, KeepBy, Waiting
from precompact_shared.engine.types import Entry, Format

__all__ = ["Cut", "CutReason", "Skip", "SkipReason", "plan_cut"]

_REACHES_THE_END = frozenset({Boundary.END, Boundary.USER})
_BARE = CutRule(
    keep_by=KeepBy.TOKENS,
    keep_tokens=0,
    keep_min_tokens=0,
    keep_share=0.0,
    keep_share_max=1.0,
    keep_history_share=0.0,
    keep_turns=0,
    boundary=Boundary.TURN,
    waiting=Waiting.STEP,
    cuts_if_all_fits=False,
    huge_characters=0,
    huge_head_characters=0,
    huge_tail_characters=0,
)


def plan_cut(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    *,
    keep_tokens: int,
    at_least: int,
    boundary: Boundary = Boundary.TURN,
    rule: CutRule | None = None,
    by_hand: bool = False,
) -> Cut | Skip:
    """Where to cut these entries (from the current `upto` to the end) so that about `keep_tokens` of them stay.

    The result's `upto` is a `seq` beyond `at_least` and its position one of `safe_cuts`. At least one entry stays,
    but where the boundary is `end` or `user`, or somebody asked (`by_hand`) a preset that cuts what fits.
    `rule` is a preset's and says more than `boundary`, which then does not count; the budget of a rule that keeps a
    share of the history or nothing is its own. With `Boundary.TURN` the newest genuine user message stays whenever
    its turn fits twice the budget. Takes O(n); raises `InvalidEntry` for an entry that is no message of the format.
    """
    if not entries:
        return Skip(SkipReason.EMPTY)
    wanted = rule or replace(_BARE, boundary=boundary)
    places = Places.of(Stretch.of(format, entries), wanted, keep_tokens)
    all_fits = (
        wanted.boundary is not Boundary.END and places.covered[-1] <= keep_tokens and _by_tokens(wanted)
    )
    if all_fits and not wanted.cuts_if_all_fits:
        return Skip(SkipReason.ALL_FITS)
    may_empty = wanted.boundary in _REACHES_THE_END or (by_hand and wanted.cuts_if_all_fits)
    found = places.ahead(at_least, len(entries) if may_empty else len(entries) - 1)
    if isinstance(found, Skip):
        return found
    if all_fits:
        return last_exchange(found, all_of_one=by_hand)
    return CHOICES[wanted.boundary](found)


def _by_tokens(rule: CutRule) -> bool:
    return rule.keep_by is KeepBy.TOKENS
