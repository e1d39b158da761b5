"""State blocks: what is true now, told by the caller, chosen within budgets and written the same way every time.

The summary says what happened; a state block says what is. Stable kinds stand in front of the summary, so that a prompt
cache keeps them from one compaction to the next; kinds that change stand behind it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.engine.shorten import Ends, Unit, shorten
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Format, Message

CountTokens = Callable[[str], int]

_HEAD_SHARE = 0.75
_SHRINK = 0.85


class StateKind(StrEnum):
    """Kinds in the order in which they are chosen and written."""

    RULES = "rules"
    MEMORY = "memory"
    SKILL = "skill"
    PLAN = "plan"
    GIT = "git"
    FILE = "file"
    TASK = "task"
    NOTICE = "notice"


STABLE = frozenset({StateKind.RULES, StateKind.MEMORY, StateKind.SKILL})
"""Kinds that hardly change while a session lives."""


class Oversize(StrEnum):
    """What becomes of a block above its budget."""

    NAME = "name"
    """Its name alone, so that the model can read it again."""
    SHORTEN = "shorten"
    """Its two ends."""
    LEAVE_OUT = "leave_out"


@dataclass(frozen=True, slots=True)
class StateBlock:
    """One block. `kind` and `name` together are its identity; the highest `used_at` is the most recently used."""

    kind: StateKind
    name: str
    text: str
    used_at: int = 0


@dataclass(frozen=True, slots=True)
class KindBudget:
    """Tokens for one kind. 0 means without that bound; a kind without a budget is left out."""

    kind: StateKind
    each_tokens: int
    total_tokens: int
    most: int
    """Blocks at most, the most recently used."""
    oversize: Oversize


@dataclass(frozen=True, slots=True)
class StateBudgets:
    """Budgets by kind and for all together, in tokens; `total_tokens` 0 = no bound for all."""

    kinds: tuple[KindBudget, ...]
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """A block as it comes back. `text` is None where only its name does."""

    block: StateBlock
    text: str | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What comes back, in the order of writing, and what does not."""

    stable: tuple[Placed, ...] = ()
    changing: tuple[Placed, ...] = ()
    left_out: tuple[StateBlock, ...] = ()

    @property
    def tokens(self) -> int:
        """What all of it costs."""
        return sum(one.tokens for one in (*self.stable, *self.changing))


def choose_blocks(
    blocks: Iterable[StateBlock], budgets: StateBudgets, *, count: CountTokens = count_text
) -> Choice:
    """The blocks that come back, stable kinds first, within a kind the most recently used first.

    A block that fits no more is left out and a smaller one behind it may still come. Blank blocks are left out.
    Deterministic: the order of `blocks` does not matter. Of two blocks of one kind and name the later one counts.
    """
    known = {(block.kind, block.name): block for block in blocks}
    by_kind = {kind: [block for block in known.values() if block.kind is kind] for kind in StateKind}
    room = budgets.total_tokens or None
    placed: dict[StateKind, list[Placed]] = {}
    for budget in sorted(budgets.kinds, key=lambda one: list(StateKind).index(one.kind)):
        chosen = placed[budget.kind] = list(_choose(by_kind[budget.kind], budget, room, count))
        room = None if room is None else room - sum(one.tokens for one in chosen)
    return _choice(known.values(), placed)


def render_blocks(format: Format, placed: Sequence[Placed]) -> Message | None:  # noqa: A002 - the design's word
    """One user message that says these blocks, each a part of its own where the format has parts; None for none."""
    if not placed:
        return None
    texts = [render_block(one) for one in placed]
    match format:
        case Format.OPENAI_CHAT:
            return {"role": "user", "content": "\n\n".join(texts)}
        case Format.ANTHROPIC:
            return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
        case Format.OPENAI_RESPONSES:
            parts = [{"type": "input_text", "text": text} for text in texts]
            return {"type": "message", "role": "user", "content": parts}


def render_block(placed: Placed) -> str:
    """The block between tags that nothing inside it can close."""
    named = f'<state kind="{placed.block.kind}" name="{_attribute(placed.block.name)}"'
    if placed.text is None:
        return f'{named} text="left out, read it again when needed"/>'
    inner = placed.text.strip("\n").replace("</state", "‹/state").replace("<state", "‹state")
    return f"{named}>\n{inner}\n</state>"


def digests_of(blocks: Iterable[StateBlock]) -> Mapping[str, str]:
    """SHA-256 of each block's text by `kind/name`, in that order: what a checkpoint remembers of the state it holds."""
    known = {f"{block.kind}/{block.name}": _digest(block.text) for block in blocks}
    return {key: known[key] for key in sorted(known)}


def changed_since(digests: Mapping[str, str], blocks: Iterable[StateBlock]) -> tuple[str, ...]:
    """Names `kind/name` of what is new, other or gone since these digests were taken, sorted: what to tell again."""
    now = digests_of(blocks)
    return tuple(sorted(key for key in {*digests, *now} if digests.get(key) != now.get(key)))


def _choose(
    blocks: Sequence[StateBlock], budget: KindBudget, room: int | None, count: CountTokens
) -> Iterator[Placed]:
    bounds = [bound for bound in (budget.total_tokens or None, room) if bound is not None]
    left = min(bounds) if bounds else None
    number = 0
    for block in sorted(blocks, key=lambda one: (-one.used_at, one.name)):
        if not block.text.strip() or (budget.most and number >= budget.most):
            continue
        placed = _placed(block, budget, count)
        if placed is not None and (left is None or placed.tokens <= left):
            number += 1
            left = None if left is None else left - placed.tokens
            yield placed


def _placed(block: StateBlock, budget: KindBudget, count: CountTokens) -> Placed | None:
    whole = _priced(block, block.text, count)
    if not budget.each_tokens or whole.tokens <= budget.each_tokens:
        return whole
    match budget.oversize:
        case Oversize.NAME:
            return _priced(block, None, count)
        case Oversize.SHORTEN:
            return _shortened(block, whole.tokens, budget.each_tokens, count)
        case Oversize.LEAVE_OUT:
            return None


def _shortened(block: StateBlock, tokens: int, most: int, count: CountTokens) -> Placed | None:
    """The longest two ends that fit, found by shrinking; None where not even the tags do."""
    characters = int(len(block.text) * most / tokens)
    while characters > 0:
        head = int(characters * _HEAD_SHARE)
        text = shorten(block.text, Ends(Unit.CHARACTERS, head, characters - head))
        placed = _priced(block, text, count)
        if placed.tokens <= most:
            return placed
        characters = int(characters * _SHRINK)
    return None


def _priced(block: StateBlock, text: str | None, count: CountTokens) -> Placed:
    return Placed(block, text, count(render_block(Placed(block, text, 0))))


def _choice(blocks: Iterable[StateBlock], placed: Mapping[StateKind, Sequence[Placed]]) -> Choice:
    """Written by kind, then name: use alone must not move what a cache holds."""
    written = [
        one for kind in StateKind for one in sorted(placed.get(kind, ()), key=lambda one: one.block.name)
    ]
    back = {(one.block.kind, one.block.name) for one in written}
    missing = (block for block in blocks if (block.kind, block.name) not in back)
    order = list(StateKind)
    return Choice(
        stable=tuple(one for one in written if one.block.kind in STABLE),
        changing=tuple(one for one in written if one.block.kind not in STABLE),
        left_out=tuple(sorted(missing, key=lambda block: (order.index(block.kind), block.name))),
    )


def _attribute(name: str) -> str:
    escaped = name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(escaped.split())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
