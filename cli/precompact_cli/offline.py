"""A conversation compacted by the engine alone: what the worker and the API do, without either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from precompact_cli.entries import Entries
from precompact_cli.exits import InputRefused
from precompact_cli.recording import Recording
from precompact_cli.windows import window_limits
from precompact_shared.engine.cut import Skip, plan_cut
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.formats import facts, synthetic_result
from precompact_shared.engine.pairing import pair_facts
from precompact_shared.engine.preset import Limits, Preset
from precompact_shared.engine.projection import context_edits, merge_edits, pinned_entries, render_insert
from precompact_shared.engine.summary import (
    Coverage,
    Rejected,
    Summary,
    check_summary,
    coverage,
    summarise_by_code,
)
from precompact_shared.engine.tokens import count_message, family_factor
from precompact_shared.engine.types import Edit, Entry, Format, Message
from precompact_shared.models import ModelWindow, resolve_window

SUMMARY_SHARE = 0.25
"""Of the limit, at most, goes to a summary; the service keeps to the same."""
UNKNOWN_WINDOW = 200_000
"""Reckoned with when neither the caller nor the model says one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What became of a conversation. Sizes are of the whole context, in estimated tokens."""

    upto: int
    reason: str
    summary: Summary
    coverage: Coverage
    insert: tuple[Message, ...]
    edits: tuple[Edit, ...]
    messages: list[Message]
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing was done, and why: a reason code."""

    reason: str


def resolve(recording: Recording, window: int | None) -> ModelWindow:
    """The window as asked for, else the model's, else 200,000."""
    return resolve_window(recording.model, window, None) or ModelWindow(UNKNOWN_WINDOW, UNKNOWN_WINDOW // 8)


def limits_of(recording: Recording, preset: Preset, window: int | None) -> Limits:
    """The preset's limits for this conversation. Raises InputRefused when the window leaves no room."""
    return window_limits(preset, resolve(recording, window))


def compact_offline(recording: Recording, preset: Preset, found: Limits) -> Compacted | Skipped:
    """One compaction of the whole conversation with the summary made by code."""
    wire, entries = recording.format, Entries(recording)
    cut = plan_cut(wire, entries, keep_tokens=found.keep_tokens, at_least=0, rule=preset.cut)
    if isinstance(cut, Skip):
        return Skipped(cut.reason.value)
    covered, kept = entries[: cut.upto], entries[cut.upto :]
    room = min(preset.summary.max_tokens, int(found.limit * SUMMARY_SHARE / family_factor(recording.model)))
    summary, _ = summarise_by_code(wire, covered, cut, preset, max_tokens=room)
    verdict = check_summary(
        summary.text,
        tokens=summary.tokens,
        covered_tokens=cut.covered_tokens,
        max_tokens=room,
        preset=preset,
    )
    if isinstance(verdict, Rejected):
        return Skipped(verdict.reason.value)
    insert = render_insert(wire, preset, summary.text, pinned_entries(wire, covered), covered=covered)
    edits = merge_edits(kept, context_edits(wire, kept, preset), answer_open_calls(wire, kept))
    messages = apply_context(recording.messages, insert, cut.upto, edits)
    before, after = entries.total, _size(recording, messages)
    if after >= before:
        return Skipped("not_smaller")
    return Compacted(
        upto=cut.upto,
        reason=cut.reason,
        summary=summary,
        coverage=coverage(covered, covered),
        insert=insert,
        edits=edits,
        messages=messages,
        tokens_before=before,
        tokens_after=after,
    )


def answer_open_calls(wire: Format, kept: Sequence[Entry]) -> tuple[Edit, ...]:
    """Results for calls that the conversation ends with: it is to be sent as it is, nobody answers them any more."""
    waiting = pair_facts(wire, [facts(wire, entry.message) for entry in kept]).open
    if not waiting:
        return ()
    answers = tuple(synthetic_result(wire, call) for _, call in waiting)
    return (Edit(kept[-1].seq, after=answers),)


def provider_text(provider: str) -> str:
    """The provider's name, if it works offline. Raises InputRefused."""
    if provider not in {"extractive", "scripted"}:
        raise InputRefused("Offline there are the providers `extractive` and `scripted`; use one of them.")
    return provider


def _size(recording: Recording, messages: Sequence[Message]) -> int:
    return sum(count_message(recording.format, one, recording.model) for one in messages)
