"""Where a cut lies and why, in words: short ones for a table, and a sentence for below it."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_cli.weighing import TOO_LONG, CutPlan, Plan
from precompact_shared.engine.cut import CutReason, SkipReason

_SAID: dict[str, str] = {
    CutReason.TURN_START: "in front of a user's turn",
    CutReason.NEWEST_TURN: "in front of the newest turn, which is kept although it is larger than what should stay",
    CutReason.LAST_EXCHANGE: "all would fit; the newest exchange alone stays",
    CutReason.INSIDE_TURN: "no turn begins within what may stay, so the head of one is covered",
    CutReason.UNIT_OVER_BUDGET: "the newest step alone is larger than what should stay; it stays whole",
    CutReason.EARLIER_TURN: "no place within what may stay; the last one in front of it",
    CutReason.EVERYTHING: "all entries are covered",
    CutReason.WAITING: "what waits for an answer stays",
    SkipReason.EMPTY: "there is nothing",
    SkipReason.ALL_FITS: "everything is within what may stay",
    SkipReason.OPEN_CALL: "a call that waits stands in front of every place",
    SkipReason.NO_SAFE_CUT: "all entries belong together",
    SkipReason.NOT_AHEAD: "every place is covered already",
    SkipReason.ONLY_PINNED: "all that could be covered is pinned",
    SkipReason.ONE_TURN: "there is the newest turn alone",
    TOO_LONG: "a history so long is no context that could be cut",
}
_SHORT = {CutReason.UNIT_OVER_BUDGET.value: "large step"}


LEGEND_OF_SIZES = (
    "Sizes of entries are estimates, by the rates with which the service counts them; limits are met by prompts as they "
    "were reported, where they were."
)


def told_place(plan: CutPlan, entries: int) -> str:
    """Where it cuts a conversation of so many entries."""
    if plan.cut is None:
        return "none"
    return "the end" if plan.cut == entries else f"entry {plan.cut}"


def short_reason(plan: CutPlan) -> str:
    """At most 14 letters."""
    return _SHORT.get(plan.reason, plan.reason.replace("_", " "))


def explained(plans: Iterable[Plan]) -> list[str]:
    """What the short reasons of these plans mean, each once."""
    cuts = [cut for plan in plans for cut in (plan.at_limit, plan.now) if cut is not None]
    found = {short_reason(cut): _SAID[cut.reason] for cut in cuts if cut.reason in _SAID}
    return [f"{short}: {said}" for short, said in sorted(found.items())]
