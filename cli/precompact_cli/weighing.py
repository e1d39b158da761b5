"""What a conversation is made of: tokens by kind, the heaviest entries, where limits are met and presets cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from precompact_cli.growth import prompt_sizes
from precompact_cli.offline import Entries, limits_of
from precompact_cli.recording import Recording
from precompact_shared.engine.cut import Skip, plan_cut
from precompact_shared.engine.formats import facts
from precompact_shared.engine.preset import Limits, Preset
from precompact_shared.engine.tokens import count_message, count_text, family_factor
from precompact_shared.engine.types import Entry, Facts, Format, Message, Role
from precompact_shared.engine.weight import weigh

HEAVIEST = 10


class Sort(StrEnum):
    """Kinds of content."""

    RESULTS = "tool results"
    ARGUMENTS = "call arguments"
    USER = "user"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    SYSTEM = "system"
    MEDIA = "media"
    OTHER = "other"


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
    for entry in entries:
        share = share_out(recording.format, entry, recording.model)
        for sort, tokens in share.items():
            by_sort[sort] += tokens
        heaviest.append((entry.seq, max(share, key=share.__getitem__), entry.tokens))
        if len(heaviest) > 2 * HEAVIEST:
            heaviest = _heaviest(heaviest)
    system = _system_tokens(recording)
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


def share_out(wire: Format, entry: Entry, model: str | None) -> dict[Sort, int]:
    """An entry's tokens by kind; they add up to the entry's."""
    parts = list(_parts(facts(wire, entry.message), entry.message))
    counted: dict[Sort, int] = {}
    for sort, part in parts:
        weight = weigh(part)
        text = sum(map(count_text, weight.texts))
        counted[sort] = counted.get(sort, 0) + text + 1
        if weight.images or weight.documents:
            media = count_message(wire, part, model) - round(text * family_factor(model))
            counted[Sort.MEDIA] = counted.get(Sort.MEDIA, 0) + media
    return _scaled(counted, entry.tokens)


def foresee(
    recording: Recording,
    entries: Sequence[Entry],
    preset: Preset,
    window: int | None,
    sizes: Sequence[int],
) -> Plan:
    """When a preset's limits are met, entry by entry and without any compaction, and where it would cut then and now."""
    found = limits_of(recording, preset, window)
    marks = {"start": found.start_low, "limit": found.limit, "hard": found.hard}
    met = {name: _met(sizes, mark) for name, mark in marks.items()}
    place = met["limit"]
    at_limit = None if place is None else _cut(recording, entries[: place + 1], preset, found)
    now = _cut(recording, entries, preset, found)
    return Plan(preset.name, marks, met, at_limit, now.cut, now.covered_tokens, now.kept_tokens, now.reason)


def _met(sizes: Sequence[int], mark: int) -> int | None:
    """The entry with which a size is reached first."""
    return next((max(0, count - 1) for count, size in enumerate(sizes) if size >= mark), None)


def _cut(recording: Recording, entries: Sequence[Entry], preset: Preset, found: Limits) -> CutPlan:
    cut = plan_cut(recording.format, entries, keep_tokens=found.keep_tokens, at_least=0, rule=preset.cut)
    if isinstance(cut, Skip):
        return CutPlan(None, 0, sum(entry.tokens for entry in entries), cut.reason.value)
    return CutPlan(cut.upto, cut.covered_tokens, cut.kept_tokens, cut.reason)


def _parts(known: Facts, message: Message) -> Iterator[tuple[Sort, Any]]:
    results = {result.part for result in known.results}
    if None in results:
        yield Sort.RESULTS, message
        return
    if known.reasoning:
        yield Sort.THINKING, message
        return
    if "content" not in message:
        yield (Sort.ARGUMENTS if known.calls else Sort.OTHER), message
        return
    yield from _content(known, message, results)
    if message.get("tool_calls"):
        yield Sort.ARGUMENTS, message["tool_calls"]


def _content(known: Facts, message: Message, results: set[int | None]) -> Iterator[tuple[Sort, Any]]:
    own = {Role.USER: Sort.USER, Role.ASSISTANT: Sort.ASSISTANT, Role.SYSTEM: Sort.SYSTEM}
    content = message["content"]
    for index, part in enumerate(content if isinstance(content, list) else [content]):
        if index in results:
            yield Sort.RESULTS, part
        elif index in known.thinking:
            yield Sort.THINKING, part
        elif isinstance(part, dict) and str(part.get("type", "")).endswith("tool_use"):
            yield Sort.ARGUMENTS, part
        else:
            yield own.get(known.role, Sort.OTHER), part


def _scaled(counted: dict[Sort, int], total: int) -> dict[Sort, int]:
    """The same shares of another total; rounding goes to the largest."""
    whole = sum(counted.values())
    if not whole:
        return {Sort.OTHER: total}
    scaled = {sort: tokens * total // whole for sort, tokens in counted.items()}
    largest = max(scaled, key=lambda sort: scaled[sort])
    scaled[largest] += total - sum(scaled.values())
    return scaled


def _system_tokens(recording: Recording) -> int:
    texts = sum(map(count_text, weigh(recording.system).texts)) if recording.system else 0
    tools = sum(map(count_text, weigh(recording.tools).texts)) if recording.tools else 0
    return round((texts + tools) * family_factor(recording.model))
