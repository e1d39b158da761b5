"""What a session carried along for nothing, as JSON and as lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from precompact_cli.plain import plain
from precompact_cli.waste import Waste

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


def print_waste(console: Console, waste: Waste, total: int) -> None:
    """The same in a few lines; `total`: tokens of the whole conversation."""
    sent = waste.sent
    lines = [
        f"Dead weight: {waste.dead:,} tokens ({waste.dead / max(1, total):.0%}) of reads out of date or there twice"
    ]
    lines += [f"  {one.path}: read {one.times} times, {one.tokens:,} tokens" for one in waste.rereads[:SHOWN]]
    if waste.clearing:
        saved = ", ".join(f"{name} {tokens:,}" for name, tokens in waste.clearing.items() if tokens)
        lines.append(f"Clearing old tool results alone would save: {saved or 'nothing'}")
    if sent.tokens:
        told = "estimated" if sent.is_estimated else "reported"
        lines.append(
            f"Sent in {sent.calls:,} calls: {sent.tokens:,} tokens ({told}), {sent.again / sent.tokens:.0%} of them again"
        )
    for line in lines:
        console.print(plain(line), highlight=False, soft_wrap=True, markup=False)
