"""`inspect`: the page about one conversation."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precompact_cli.compacting import known_preset
from precompact_cli.exits import Exit, print_json
from precompact_cli.offline import resolve
from precompact_cli.recording import Recording, read_recording
from precompact_cli.weighing import Plan, Weights, weigh_recording
from precompact_shared.engine.preset import preset_names

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAR = 40


def run_inspect(file: Path, *, window: int | None, as_json: bool) -> Exit:
    """Prints sizes by kind, the heaviest entries, and what each preset would do."""
    recording = read_recording(file)
    weights = weigh_recording(recording, [known_preset(name) for name in preset_names()], window)
    if as_json:
        print_json(describe(recording, weights, resolve(recording, window).window))
    else:
        _print_page(recording, weights, resolve(recording, window).window)
    return Exit.OK


def describe(recording: Recording, weights: Weights, window: int) -> dict[str, Any]:
    """The page as one JSON object; sizes in estimated tokens, places as `seq`."""
    return {
        "name": recording.name,
        "format": recording.format.value,
        "model": recording.model,
        "window": window,
        "entries": len(recording.messages),
        "model_calls": len(recording.calls),
        "tokens": weights.total,
        "by_kind": {sort.value: tokens for sort, tokens in weights.by_sort.items()},
        "largest": [
            {"seq": seq, "kind": sort.value, "tokens": tokens} for seq, sort, tokens in weights.heaviest
        ],
        "presets": [asdict(plan) for plan in weights.plans],
    }


def _print_page(recording: Recording, weights: Weights, window: int) -> None:
    from rich.console import Console

    console = Console()
    console.print(
        f"{recording.name}: {recording.format}, {recording.model or 'model unknown'}, "
        f"{len(recording.messages)} entries, {len(recording.calls)} model calls, "
        f"about {weights.total:,} tokens (estimated), window {window:,}",
        highlight=False,
        soft_wrap=True,
    )
    for table in (_by_kind(weights), _heaviest(weights), _plans(weights.plans)):
        console.print()
        console.print(table)
    _print_legend(console)


def _print_legend(console: Console) -> None:
    console.print(
        "start: background work may begin; limit: a prepared candidate is adopted; hard: only here may a call wait.\n"
        "The entry is the one at which it is met if nothing is ever compacted. Sizes are estimates.",
        style="dim",
        highlight=False,
        soft_wrap=True,
    )


def _by_kind(weights: Weights) -> Table:
    table = _table("What it is made of", "kind", "tokens", "share", "")
    most = max(weights.by_sort.values(), default=1)
    for sort, tokens in sorted(weights.by_sort.items(), key=lambda item: -item[1]):
        bar = "█" * max(1, round(BAR * tokens / most))
        table.add_row(sort.value, f"{tokens:,}", f"{tokens / max(1, weights.total):.0%}", bar)
    return table


def _heaviest(weights: Weights) -> Table:
    table = _table("Largest entries", "entry", "mostly", "tokens", "")
    most = max((tokens for _, _, tokens in weights.heaviest), default=1)
    for seq, sort, tokens in weights.heaviest:
        table.add_row(str(seq), sort.value, f"{tokens:,}", "█" * max(1, round(BAR * tokens / max(1, most))))
    return table


def _plans(plans: tuple[Plan, ...]) -> Table:
    table = _table("What each preset would do", "preset", "start", "limit", "hard", "cut now", "takes")
    for plan in plans:
        marks = (_mark(plan, name) for name in ("start", "limit", "hard"))
        cut = f"entry {plan.cut}" if plan.cut is not None else "none"
        table.add_row(
            plan.preset,
            *marks,
            f"{cut}\n{plan.reason.replace('_', ' ')}",
            f"{plan.covered_tokens:,}\nkeeps {plan.kept_tokens:,}",
        )
    return table


def _mark(plan: Plan, name: str) -> str:
    met = plan.met_at[name]
    return f"{plan.limits[name]:,}\n" + ("never met" if met is None else f"entry {met}")


def _table(title: str, *columns: str) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE, title_style="bold", padding=(0, 1, 0, 0))
    for column in columns:
        numbers = column in {"tokens", "share"}
        table.add_column(column, justify="right" if numbers else "left", no_wrap=True)
    return table
