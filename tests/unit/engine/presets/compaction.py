"""One compaction by the engine alone, as tests of presets need it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from precompact_shared.engine.cut import Cut, Skip, plan_cut
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.preset import Preset
from precompact_shared.engine.projection import context_edits, pinned_entries, render_insert
from precompact_shared.engine.recognition import summary_preset
from precompact_shared.engine.summary import Rejected, check_summary, summarise_by_code
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Edit, Entry, Format, Message
from precompact_shared.engine.validate import RequestFacts, Violation, validate


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of a history."""

    cut: Cut
    summary: str
    insert: tuple[Message, ...]
    edits: tuple[Edit, ...]
    context: list[Message]

    @property
    def tail(self) -> list[Message]:
        """The context behind the insert."""
        return self.context[len(self.insert) :]


def compact(
    preset: Preset, wire: Format, entries: Sequence[Entry], *, keep_tokens: int | None = None
) -> Compacted | str:
    """The compaction, or the reason why there is none. Entries count from 0."""
    keep = preset.cut.keep_tokens if keep_tokens is None else keep_tokens
    cut = plan_cut(wire, entries, keep_tokens=keep, at_least=0, rule=preset.cut)
    if isinstance(cut, Skip):
        return cut.reason
    covered, kept = entries[: cut.upto], entries[cut.upto :]
    most = min(preset.summary.max_tokens, max(256, cut.covered_tokens // 2))
    summary, _ = summarise_by_code(wire, covered, cut, preset, max_tokens=most)
    verdict = check_summary(
        summary.text,
        tokens=summary.tokens,
        covered_tokens=cut.covered_tokens,
        max_tokens=most,
        preset=preset,
    )
    if isinstance(verdict, Rejected):
        return verdict.reason
    insert = render_insert(wire, preset, summary.text, pinned_entries(wire, covered), covered=covered)
    edits = context_edits(wire, kept, preset)
    messages = [entry.message for entry in entries]
    context = apply_context(messages, insert, cut.upto, edits)
    if size(wire, context) >= size(wire, messages):
        return "not_smaller"
    return Compacted(cut, summary.text, insert, edits, context)


def size(wire: Format, messages: Sequence[Message]) -> int:
    """Estimated tokens."""
    return sum(count_message(wire, message, None) for message in messages)


def written(messages: Sequence[Message]) -> bytes:
    """The bytes that would be sent."""
    return json.dumps(messages, ensure_ascii=True).encode()


def breaches(wire: Format, context: Sequence[Message]) -> tuple[Violation, ...]:
    """What the provider would not take, knowing which message is a summary of ours: behind it no thinking (A11)."""
    places = [index for index, one in enumerate(context) if summary_preset(wire, one) is not None]
    request = RequestFacts(summary_at=places[0]) if places else None
    return validate(wire, context, request=request, open_end_ok=True)
