"""Where each boundary puts the cut, among the usable places. One function a boundary."""

from __future__ import annotations

from collections.abc import Callable

from precompact_shared.engine.cut.outcome import Cut, CutReason, Skip, SkipReason
from precompact_shared.engine.cut.places import Places
from precompact_shared.engine.preset import Boundary, Waiting
from precompact_shared.engine.types import Role

_WORTH_KEEPING = 0.25
"""Share of the keep budget below which a tail is too little to go on with."""
_NEWEST_TURN = 2.0
"""The turn of the newest user message stays whole up to this multiple of the keep budget."""

Choice = Callable[[Places], Cut | Skip]


def _by_turn(places: Places) -> Cut | Skip:
    newest, usable = places.stretch.newest_user_turn(), list(places.usable)
    if newest is not None and places.kept[newest] <= _NEWEST_TURN * places.budget:
        usable = [p for p in usable if p <= newest]
        if not usable:
            return Skip(SkipReason.ONE_TURN)
    within = [p for p in usable if places.kept[p] <= places.budget]
    worth = _WORTH_KEEPING * places.budget
    turns = places.within_turns(p for p in within if places.stretch.starts_turn(p))
    if (turn := next((p for p in turns if places.kept[p] >= worth), None)) is not None:
        return places.cut(turn, CutReason.TURN_START)
    if within and places.kept[within[0]] >= worth:
        return places.cut(within[0], CutReason.INSIDE_TURN)
    return _around_a_large_unit(places, usable, within)


def _around_a_large_unit(places: Places, usable: list[int], within: list[int]) -> Cut:
    """The places near the budget are too small or too large: rather somewhat too much than nearly nothing."""
    larger = [p for p in usable if places.kept[p] > places.budget]
    fallback = larger[-1] if larger else within[0]
    if within and places.kept[fallback] > _NEWEST_TURN * places.budget:
        fallback = within[0]
    if places.kept[fallback] <= places.budget:
        return places.cut(fallback, CutReason.INSIDE_TURN)
    newest = fallback == places.stretch.newest_user_turn()
    return places.cut(fallback, CutReason.NEWEST_TURN if newest else CutReason.UNIT_OVER_BUDGET)


def _by_budget(places: Places) -> Cut | Skip:
    reached = max(p for p in range(len(places.stretch)) if places.kept[p] >= places.budget or p == 0)
    position = next((p for p in places.usable if p >= reached), places.usable[-1])
    if places.kept[position] > places.budget and position < reached:
        return places.cut(position, CutReason.UNIT_OVER_BUDGET)
    starts = places.stretch.starts_turn(position)
    return places.cut(position, CutReason.TURN_START if starts else CutReason.INSIDE_TURN)


def _by_exchange(places: Places) -> Cut | Skip:
    """Whole exchanges within the budget; else the end of the newest; else the newest as it is, up to a bound."""
    turns = places.turns()
    within = places.within_turns(p for p in turns if places.kept[p] <= places.budget)
    if within:
        return places.cut(within[0], CutReason.TURN_START)
    inside = [p for p in places.usable if places.kept[p] <= places.budget]
    if inside:
        return places.cut(inside[0], CutReason.INSIDE_TURN)
    if turns and places.kept[turns[-1]] <= _NEWEST_TURN * places.budget:
        return places.cut(turns[-1], CutReason.NEWEST_TURN)
    last = places.usable[-1]
    starts = places.stretch.starts_turn(last)
    return places.cut(last, CutReason.NEWEST_TURN if starts else CutReason.UNIT_OVER_BUDGET)


def _by_user(places: Places) -> Cut | Skip:
    """The first plain user message behind the target; without one, everything or the last such message before it."""
    known, size = places.stretch.facts, len(places.stretch)
    plain = [p for p in places.usable if p < size and known[p].user_turn and not known[p].results]
    within = [p for p in plain if places.kept[p] <= places.budget]
    if within:
        return places.cut(within[0], CutReason.TURN_START)
    ends_in_text = size > 1 and known[-1].role is Role.ASSISTANT and not known[-1].calls
    if ends_in_text and size in places.usable:
        return places.cut(size, CutReason.EVERYTHING)
    return places.cut(plain[-1], CutReason.EARLIER_TURN) if plain else Skip(SkipReason.NO_SAFE_CUT)


def _by_end(places: Places) -> Cut | Skip:
    """Behind all that does not wait for an answer; an open call puts it off."""
    if places.stretch.pairing.open:
        return Skip(SkipReason.OPEN_CALL)
    size = len(places.stretch)
    stop = places.waits_from()
    if places.rule.waiting is Waiting.STEP and places.stretch.facts[-1].results:
        stop = min(stop, size - 1)
    usable = [p for p in places.usable if p <= stop]
    if not usable:
        return Skip(SkipReason.ONE_TURN)
    return places.cut(usable[-1], CutReason.EVERYTHING if usable[-1] == size else CutReason.WAITING)


def last_exchange(places: Places, *, all_of_one: bool) -> Cut | Skip:
    """Everything fits and the newest exchange stays; `all_of_one`: where it is all there is, it is covered."""
    newest, size = places.newest_turn(), len(places.stretch)
    if newest is not None and newest in places.usable:
        return places.cut(newest, CutReason.LAST_EXCHANGE)
    if all_of_one and size in places.usable:
        return places.cut(size, CutReason.EVERYTHING)
    return Skip(SkipReason.ONE_TURN)


CHOICES: dict[Boundary, Choice] = {
    Boundary.TURN: _by_turn,
    Boundary.ANY: _by_budget,
    Boundary.EXCHANGE: _by_exchange,
    Boundary.USER: _by_user,
    Boundary.END: _by_end,
}
