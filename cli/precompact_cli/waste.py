"""What a session carried along for nothing: files read again, results that are out of date, tokens sent again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from precompact_cli.entries import MOST_OF_A_CONTEXT, Entries
from precompact_cli.logs.shelf import is_held
from precompact_cli.recording import Recording
from precompact_shared.engine.catalogue import Catalogue, Touch, arguments_of, files_of
from precompact_shared.engine.clearing import ClearingRule, NothingToClear, plan_clearing
from precompact_shared.engine.clearing.results import ToolResult, each_tool_result
from precompact_shared.engine.preset import Preset
from precompact_shared.engine.types import Entry
from precompact_shared.prices import MILLION, known_price


@dataclass(frozen=True, slots=True)
class Reread:
    """A file that was read more than once: how often, and the tokens of all its reads but the newest."""

    path: str
    times: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Prompts of all recorded calls together, in tokens; estimated ones where nothing was reported."""

    calls: int
    tokens: int
    again: int
    """Of these, what the prompt before held too, at most."""
    is_estimated: bool
    largest: int = 0
    """The largest of them."""
    largest_at: int = 0
    """Number of entries in it."""
    again_usd: tuple[float, float] | None = None
    """What these cost at list prices if all of them, or none, came from a prompt cache; None: no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waste:
    """Sizes in estimated tokens."""

    dead: int
    """Read results whose file was changed later, or that the same call brought again."""
    rereads: tuple[Reread, ...]
    """Most tokens first."""
    clearing: dict[str, int]
    """By preset: what clearing old tool results alone would save of this context."""
    sent: Sent


def find_waste(recording: Recording, entries: Entries, presets: list[Preset], catalogue: Catalogue) -> Waste:
    """All of it. O(n) in the entries, for each preset again."""
    reads = _Reads()
    for one in each_tool_result(recording.format, entries, catalogue):
        reads.take(one)
    is_context = len(entries) <= MOST_OF_A_CONTEXT and is_held(recording.messages)
    held = entries[:] if is_context else []
    return Waste(
        dead=reads.dead,
        rereads=reads.repeated(),
        clearing=_savings(recording, held, presets, catalogue) if held else {},
        sent=count_sent(recording, entries),
    )


def count_sent(recording: Recording, entries: Entries) -> Sent:
    """What the calls of the model were sent altogether."""
    sizes = reported_sizes(recording)
    is_estimated = not sizes
    if is_estimated:
        upto = entries.upto
        sizes = [(call.prefix, upto[call.prefix]) for call in recording.calls]
    largest_at, largest = max(sizes, key=lambda one: one[1], default=(0, 0))
    again = [(after, min(before, after)) for (_, before), (_, after) in pairwise(sizes)]
    return Sent(
        calls=len(sizes),
        tokens=sum(size for _, size in sizes),
        again=sum(tokens for _, tokens in again),
        is_estimated=is_estimated,
        largest=largest,
        largest_at=largest_at,
        again_usd=_price_of(recording.model, again),
    )


def _price_of(model: str | None, again: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Of tokens sent again, each with the size of the prompt they were in: that decides what one costs."""
    price = known_price(model) if model else None
    if price is None:
        return None
    paid = [(price.of(prompt), tokens) for prompt, tokens in again]
    cached = sum(one.cache_read * tokens for one, tokens in paid)
    plain = sum(one.input * tokens for one, tokens in paid)
    return round(cached / MILLION, 2), round(plain / MILLION, 2)


def reported_sizes(recording: Recording) -> list[tuple[int, int]]:
    """Prefix and whole prompt of every call that reported it, those behind the tool's own compactions too."""
    log = recording.log
    if log is not None and log.messages is recording.messages:
        return [(call.prefix, call.total_input) for call in log.calls if call.total_input]
    return [(call.prefix, call.reported) for call in recording.calls if call.reported is not None]


class _Reads:
    def __init__(self) -> None:
        self.dead = 0
        self._live: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        """By file: each call that read it, with the tokens of its newest result."""
        self._seen: dict[str, list[int]] = defaultdict(list)

    def take(self, one: ToolResult) -> None:
        """The next result."""
        touched = files_of(one.tool, arguments_of(one.call))
        for file in touched:
            if file.touch is Touch.MODIFIED:
                self.dead += sum(self._live.pop(file.path, {}).values())
        if len(touched) == 1 and touched[0].touch is Touch.READ and not one.result.is_error:
            path, call = touched[0].path, (one.call.name, one.call.arguments)
            self.dead += self._live[path].get(call, 0)
            self._live[path][call] = one.tokens
            self._seen[path].append(one.tokens)

    def repeated(self) -> tuple[Reread, ...]:
        """Files read more than once."""
        found = (Reread(path, len(sizes), sum(sizes[:-1])) for path, sizes in self._seen.items() if sizes[1:])
        return tuple(sorted(found, key=lambda one: (-one.tokens, one.path)))


def _savings(
    recording: Recording, entries: list[Entry], presets: list[Preset], catalogue: Catalogue
) -> dict[str, int]:
    """By preset; what several have in common is planned once."""
    saved: dict[ClearingRule, int] = {}
    for rule in (preset.clearing for preset in presets):
        if rule not in saved:
            plan = plan_clearing(recording.format, entries, rule, catalogue=catalogue, model=recording.model)
            saved[rule] = 0 if isinstance(plan, NothingToClear) else plan.saving_tokens
    return {preset.name: saved[preset.clearing] for preset in presets}
