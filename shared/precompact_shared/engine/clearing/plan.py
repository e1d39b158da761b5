"""Which results give way: the newest stay by count, by turns and by tokens; protected tools stay; little gain is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial

from precompact_shared.engine.catalogue import Catalogue
from precompact_shared.engine.clearing.replacing import can_be_replaced, is_cleared, replace_result, texts_of
from precompact_shared.engine.clearing.results import ToolResult, tool_results
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.preset.clearing import ClearingRule, ClearMode
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Edit, Entry, Format, Message

Measure = Callable[[Message], int]


class Idle(StrEnum):
    """Why nothing is cleared."""

    SWITCHED_OFF = "switched_off"
    """The rule clears nothing."""
    CONTEXT_TOO_SMALL = "context_too_small"
    NO_RESULTS = "no_results"
    """None that may go: no results at all, protected or of other kinds, or cleared already."""
    ALL_RECENT = "all_recent"
    """Those that may go are too recent."""
    SAVING_TOO_SMALL = "saving_too_small"


@dataclass(frozen=True, slots=True)
class NothingToClear:
    """A skip, not a failure."""

    reason: Idle
    saving_tokens: int = 0
    """What could have been won."""


@dataclass(frozen=True, slots=True)
class Clearing:
    """New edits by `seq`, then part, and what they save: the estimate before less the estimate after, in tokens."""

    edits: tuple[Edit, ...]
    saved: tuple[tuple[int, int], ...]
    """`seq` and saved tokens of each edited entry."""

    @property
    def saving_tokens(self) -> int:
        """What all of it saves."""
        return sum(tokens for _, tokens in self.saved)

    @property
    def through(self) -> int:
        """`seq` behind the last edited entry: what the clearing relies on is `[0, through)`."""
        return self.edits[-1].seq + 1


def plan_clearing(
    format: Format,  # noqa: A002 - the word of the design
    entries: Sequence[Entry],
    rule: ClearingRule,
    *,
    held: Sequence[Edit] = (),
    catalogue: Catalogue | None = None,
    model: str | None = None,
    measure: Measure | None = None,
    context_tokens: int | None = None,
) -> Clearing | NothingToClear:
    """What to clear of the kept entries, whose calls are among them.

    `held` are edits that stand already: what they touch is not cleared again. Pinned entries, results that may not be
    changed without breaking the request, and results of protected tools never go. Sizes come from the entries and,
    for what is edited, from `measure` (`count_message` for `model` unless given); `context_tokens` is the size of the
    whole context, the sum of the entries unless given. Deterministic; changes nothing. O(n).
    """
    if all(mode is ClearMode.NOTHING for mode in (rule.mode, *(one.mode for one in rule.kinds))):
        return NothingToClear(Idle.SWITCHED_OFF)
    if (
        sum(entry.tokens for entry in entries) if context_tokens is None else context_tokens
    ) < rule.from_tokens:
        return NothingToClear(Idle.CONTEXT_TOO_SMALL)
    places = {(edit.seq, edit.part) for edit in held}
    found = tool_results(format, entries, catalogue)
    may_go = [one for one in _until_cleared(format, found, rule, places) if _may_go(format, one, rule)]
    if not may_go:
        return NothingToClear(Idle.NO_RESULTS)
    old = list(_not_recent(may_go, rule))
    if not old:
        return NothingToClear(Idle.ALL_RECENT)
    edits = filter(None, (replace_result(format, one, rule) for one in reversed(old)))
    by_seq = {one.entry.seq: one.entry for one in old}
    worth = list(_worth(edits, by_seq, held, measure or partial(count_message, format, model=model)))
    saving = sum(tokens for _, tokens in worth)
    if not worth or saving < rule.min_saving_tokens:
        return NothingToClear(Idle.SAVING_TOO_SMALL, saving)
    saved = tuple((group[0].seq, tokens) for group, tokens in worth)
    return Clearing(tuple(edit for group, _ in worth for edit in group), saved)


def _until_cleared(
    wire: Format, found: Sequence[ToolResult], rule: ClearingRule, places: set[tuple[int, int | None]]
) -> Iterator[ToolResult]:
    """Results from the newest back, without those that are cleared already."""
    for one in reversed(found):
        if (
            one.place in places
            or (one.entry.seq, None) in places
            or any(map(is_cleared, texts_of(wire, one)))
        ):
            if rule.stops_at_cleared:
                return
        else:
            yield one


def _may_go(wire: Format, one: ToolResult, rule: ClearingRule) -> bool:
    if one.entry.pinned or one.tool.protect or not can_be_replaced(wire, one):
        return False
    if rule.clearable and one.tool.kind not in rule.clearable:
        return False
    if rule.treatment(one.tool.kind)[0] is ClearMode.NOTHING:
        return False
    name = one.call.name.casefold()
    return not any(fnmatchcase(name, pattern.casefold()) for pattern in rule.protected)


def _not_recent(newest_first: Iterable[ToolResult], rule: ClearingRule) -> Iterator[ToolResult]:
    """Those that no protection of the recent keeps, newest first."""
    kept = 0
    of_tool: Counter[str] = Counter()
    tokens = 0
    for one in newest_first:
        if one.user_turns_behind < rule.exempt_user_turns or one.tool_turns_behind < rule.exempt_tool_turns:
            continue
        if one.tokens_behind < rule.keep_recent_tokens:
            continue
        if of_tool[one.call.name] < one.tool.keep_recent:
            of_tool[one.call.name] += 1
            continue
        if kept < rule.keep_recent:
            kept += 1
            continue
        tokens += one.tokens
        if tokens > rule.protect_tokens or not rule.protect_tokens:
            yield one


def _worth(
    edits: Iterable[Edit], by_seq: dict[int, Entry], held: Sequence[Edit], measure: Measure
) -> Iterator[tuple[list[Edit], int]]:
    """The edits of each entry with what they save, where they save anything."""
    of_entry: dict[int, list[Edit]] = {}
    for edit in edits:
        of_entry.setdefault(edit.seq, []).append(edit)
    for seq in sorted(of_entry):
        entry = by_seq[seq]
        earlier = [edit for edit in held if edit.seq == seq]
        before = _size(entry.message, earlier, measure) if earlier else entry.tokens
        saving = before - _size(entry.message, [*earlier, *of_entry[seq]], measure)
        if saving > 0:
            yield sorted(of_entry[seq], key=lambda edit: edit.part or 0), saving


def _size(message: Message, edits: Iterable[Edit], measure: Measure) -> int:
    here = [Edit(0, part=edit.part, value=edit.value) for edit in edits if not edit.after]
    return sum(map(measure, apply_context([message], (), 0, here)))
