"""What a conversation is made of: tokens by kind, the heaviest entries, where limits are met and presets cut.

All sizes come from one weighing of each entry, by the rates with which the service sizes what it is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from precompact_cli.entries import MOST_OF_A_CONTEXT, Entries
from precompact_cli.growth import prompt_sizes
from precompact_cli.offline import limits_of
from precompact_cli.recording import Recording
from precompact_shared.engine.cut import Skip, plan_cut
from precompact_shared.engine.estimate import Piece, Rates, Side
from precompact_shared.engine.estimate.reasoning import sealed_tokens
from precompact_shared.engine.preset import Limits, Preset
from precompact_shared.engine.tokens import DOCUMENT_TOKENS, IMAGE_TOKENS, count_text
from precompact_shared.engine.types import Entry
from precompact_shared.engine.weight import weigh

HEAVIEST = 10
TOO_LONG = "too_long"
"""Why no cut of a history is planned that is no context any more."""


class Sort(StrEnum):
    """Kinds of content."""

    RESULTS = "tool results"
    ARGUMENTS = "call arguments"
    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    SYSTEM = "system"
    MEDIA = "media"


@dataclass(frozen=True, slots=True)
class CutPlan:
    """Where a preset would cut (None: nowhere), what it would cover and keep, and why there or why not."""

    cut: int | None
    covered_tokens: int
    kept_tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a preset would do: entry at which each limit is met (None: never), its cut there, and its cut at the end."""

    preset: str
    limits: dict[str, int]
    met_at: dict[str, int | None]
    at_limit: CutPlan | None
    """When the limit is met; None where it never is."""
    cut: int | None
    covered_tokens: int
    kept_tokens: int
    reason: str

    @property
    def now(self) -> CutPlan:
        """The cut at the end."""
        return CutPlan(self.cut, self.covered_tokens, self.kept_tokens, self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Sizes of one conversation in estimated tokens."""

    total: int
    by_sort: dict[Sort, int]
    heaviest: tuple[tuple[int, Sort, int], ...]
    """(seq, kind that weighs most in it, tokens), heaviest first."""
    plans: tuple[Plan, ...]
    sizes: Sequence[int]
    """The prompt with the first n entries, for n from 0, if nothing were ever compacted."""


def weigh_recording(
    recording: Recording, entries: Entries, presets: Sequence[Preset], window: int | None
) -> Weights:
    """Sizes of the recording, whose entries these are."""
    by_sort = dict.fromkeys(Sort, 0)
    heaviest: list[tuple[int, Sort, int]] = []
    for seq, (piece, tokens) in enumerate(zip(entries.pieces, entries.sizes, strict=True)):
        share = share_out(entries.rates, piece, tokens, given=_giver(piece))
        for sort, part in share.items():
            by_sort[sort] += part
        heaviest.append((seq, max(share, key=share.__getitem__), tokens))
        if len(heaviest) > 2 * HEAVIEST:
            heaviest = _heaviest(heaviest)
    system = _system_tokens(recording, entries.rates)
    by_sort[Sort.SYSTEM] += system
    sizes = prompt_sizes(recording, entries.upto, system)
    return Weights(
        total=entries.total + system,
        by_sort={sort: tokens for sort, tokens in by_sort.items() if tokens},
        heaviest=tuple(_heaviest(heaviest)),
        plans=tuple(foresee(recording, entries, preset, window, sizes) for preset in presets),
        sizes=sizes,
    )


def _heaviest(found: list[tuple[int, Sort, int]]) -> list[tuple[int, Sort, int]]:
    return sorted(found, key=lambda one: (-one[2], one[0]))[:HEAVIEST]


def share_out(rates: Rates, piece: Piece, tokens: int, *, given: Sort) -> dict[Sort, int]:
    """An entry's tokens by kind; they add up to `tokens`. `given`: what text is that the caller brought."""
    load = piece.load
    hidden = sealed_tokens(load) if rates.counts_reasoning else 0.0
    whole = {
        Sort.RESULTS: rates.results * load.results,
        Sort.ARGUMENTS: rates.arguments * load.arguments + rates.call * load.calls + rates.key * load.keys,
        given: rates.given * load.given,
        Sort.ASSISTANT: rates.spoken * load.spoken,
        Sort.THINKING: rates.thinking * load.thinking + rates.hidden_char * load.hidden_chars + hidden,
        Sort.MEDIA: float(IMAGE_TOKENS * load.images + DOCUMENT_TOKENS * load.documents),
    }
    parts = {sort: round(size) for sort, size in whole.items() if size}
    if not parts:
        return {_weightless(piece, given): tokens}
    largest = max(parts, key=parts.__getitem__)
    parts[largest] += tokens - sum(parts.values())
    return parts


def _weightless(piece: Piece, given: Sort) -> Sort:
    """The kind of an entry that the model's family counts nothing of, as GPT does of summaries of its reasoning."""
    if piece.result_ids:
        return Sort.RESULTS
    if piece.side is not Side.REPLY:
        return given
    return Sort.THINKING if piece.load.thinking or piece.load.sealed else Sort.ASSISTANT


def _giver(piece: Piece) -> Sort:
    """Whose the text is that no model said."""
    return Sort.SYSTEM if piece.side is Side.SYSTEM else Sort.USER


def foresee(
    recording: Recording,
    entries: Entries,
    preset: Preset,
    window: int | None,
    sizes: Sequence[int],
) -> Plan:
    """When a preset's limits are met, entry by entry and without any compaction, and where it would cut then and now."""
    found = limits_of(recording, preset, window)
    marks = {"start": found.start_low, "limit": found.limit, "hard": found.hard}
    met = {name: _met(sizes, mark) for name, mark in marks.items()}
    place = met["limit"]
    at_limit = None if place is None else _planned(recording, entries, place + 1, preset, found)
    now = _planned(recording, entries, len(entries), preset, found)
    return Plan(preset.name, marks, met, at_limit, now.cut, now.covered_tokens, now.kept_tokens, now.reason)


def _met(sizes: Sequence[int], mark: int) -> int | None:
    """The entry with which a size is reached first."""
    return next((max(0, count - 1) for count, size in enumerate(sizes) if size >= mark), None)


def _planned(recording: Recording, entries: Entries, count: int, preset: Preset, found: Limits) -> CutPlan:
    """The cut of the first `count` entries."""
    if count > MOST_OF_A_CONTEXT:
        return CutPlan(None, 0, entries.upto[count], TOO_LONG)
    return _cut(recording, entries[:count] if count < len(entries) else entries, preset, found)


def _cut(recording: Recording, entries: Sequence[Entry], preset: Preset, found: Limits) -> CutPlan:
    cut = plan_cut(recording.format, entries, keep_tokens=found.keep_tokens, at_least=0, rule=preset.cut)
    if isinstance(cut, Skip):
        return CutPlan(None, 0, sum(entry.tokens for entry in entries), cut.reason.value)
    return CutPlan(cut.upto, cut.covered_tokens, cut.kept_tokens, cut.reason)


def _system_tokens(recording: Recording, rates: Rates) -> int:
    """System text and tools, where the file holds them: counted as text that the caller gave."""
    texts = [text for told in (recording.system, recording.tools) if told for text in weigh(told).texts]
    return round(rates.given * sum(map(count_text, texts)))
