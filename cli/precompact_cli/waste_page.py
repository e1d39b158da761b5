"""What a session carried along for nothing, as JSON and as lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from precompact_cli.plain import counted, plain
from precompact_cli.waste import Sent, Waste
from precompact_cli.weighing import Sort, Weights

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 5
_MOST_TOLD = 50
"""Files that JSON lists."""


def describe_waste(waste: Waste) -> dict[str, Any]:
    """`dead_weight`, `repeated_reads`, `clearing_saves` and `sent`; sizes in tokens."""
    return {
        "dead_weight": waste.dead,
        "repeated_reads": [asdict(one) for one in waste.rereads[:_MOST_TOLD]],
        "clearing_saves": waste.clearing,
        "sent": asdict(waste.sent),
    }


def told_shares(weights: Weights, waste: Waste) -> str:
    """The page in a line: how much of it tools have brought, and how much is of no use any more."""
    whole = max(1, weights.total)
    results = weights.by_sort.get(Sort.RESULTS, 0)
    sent = waste.sent
    again = (
        f", {sent.again / sent.tokens:.0%} of all that was sent had been sent before" if sent.tokens else ""
    )
    return f"{results / whole:.0%} tool results, {waste.dead / whole:.0%} dead weight{again}"


def told_sent(sent: Sent) -> list[str]:
    """The largest prompt; what was sent in all, and again, with its price; no line where nothing was."""
    if not sent.tokens:
        return []
    told = "estimated" if sent.is_estimated else "reported"
    line = f"Sent in {counted(sent.calls, 'call')}: {sent.tokens:,} tokens ({told}), {sent.again / sent.tokens:.0%} of them again"
    if sent.again_usd is not None and sent.again_usd[1]:
        cached, plain = sent.again_usd
        line += f": ${cached:,.2f} at list prices if a cache had them all, ${plain:,.2f} if none had"
    largest = f"Largest prompt: {sent.largest:,} tokens ({told}), with {counted(sent.largest_at, 'entry', 'entries')}"
    return [largest, line]


def print_waste(console: Console, waste: Waste, total: int) -> None:
    """Dead weight, repeated reads and what was sent, in a few lines; `total`: tokens of the whole conversation."""
    lines = [
        f"Dead weight: {waste.dead:,} tokens ({waste.dead / max(1, total):.0%}) of reads out of date or there twice"
    ]
    if waste.rereads:
        lines.append(f"Files read more than once: {len(waste.rereads)}; tokens of all reads but the newest:")
    lines += [f"{one.tokens:>9,}  {one.times:>3} times  {one.path}" for one in waste.rereads[:SHOWN]]
    lines += told_sent(waste.sent)
    for line in lines:
        console.print(plain(line), highlight=False, soft_wrap=True, markup=False)
