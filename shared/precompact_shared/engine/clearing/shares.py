"""Which tools fill a context, and which of them nobody has described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from precompact_shared.engine.catalogue import Catalogue, shipped_catalogue
from precompact_shared.engine.clearing.results import each_tool_result
from precompact_shared.engine.formats import facts
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Entry, Format


def tool_shares(format: Format, entries: Sequence[Entry]) -> Mapping[str, float]:  # noqa: A002 - the design's word
    """For each tool that was called: the share of all tokens that its arguments and results have, largest first."""
    total = sum(entry.tokens for entry in entries)
    tokens: Counter[str] = Counter()
    for entry in entries:
        for call in facts(format, entry.message).calls:
            tokens[call.name] += count_text(call.arguments)
    for found in each_tool_result(format, entries):
        tokens[found.call.name] += found.tokens
    ranked = sorted(tokens.items(), key=lambda item: (-item[1], item[0]))
    return {name: min(1.0, size / total) if total else 0.0 for name, size in ranked}


def unknown_tools(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    catalogue: Catalogue | None = None,
) -> Mapping[str, float]:
    """`tool_shares` of the tools that no row of the catalogue speaks of: what a policy might describe."""
    known = catalogue or shipped_catalogue()
    return {name: share for name, share in tool_shares(format, entries).items() if not known.knows(name)}
