"""`inspect`: the page about one conversation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precompact_cli.compacting import known_preset
from precompact_cli.cut_words import LEGEND_OF_SIZES, explained, short_reason, told_place
from precompact_cli.entries import Entries
from precompact_cli.exits import Exit, print_json
from precompact_cli.judging import Breach, Judgement, judge_recording, read_catalogue, strangers
from precompact_cli.log_page import describe_log, print_log, told_log
from precompact_cli.offline import resolve
from precompact_cli.picture import draw_svg, short_size
from precompact_cli.picture_page import check_targets, draw_page, picture_of, write_picture
from precompact_cli.plain import counted, plain
from precompact_cli.predictions import predict_usage
from precompact_cli.recording import Recording
from precompact_cli.source import Source
from precompact_cli.waste import Waste, find_waste
from precompact_cli.waste_page import describe_waste, print_waste, told_shares
from precompact_cli.weighing import CutPlan, Plan, Weights, weigh_recording
from precompact_shared.engine.preset import preset_names

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAR = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything there is to show."""

    recording: Recording
    window: int
    weights: Weights
    waste: Waste
    strangers: dict[str, float]
    """Tools that nobody has described, with their share of all tokens."""
    judgement: Judgement | None
    """None: not asked for."""
    predictions: list[dict[str, int | None]]
    """See `predict_usage`; none unless JSON is asked for."""


def run_inspect(
    source: Source,
    *,
    window: int | None,
    policy: Path | None,
    judged: bool,
    as_json: bool,
    svg: Path | None = None,
    html: Path | None = None,
) -> Exit:
    """Prints sizes by kind, the heaviest entries, dead weight, unknown tools, and what each preset would do.

    `judged`: what the provider would refuse too; then FAILED if it would refuse anything. `svg`, `html`: files to
    which a picture is written, alone or with the figures.
    """
    check_targets(source.file, svg, html)
    catalogue = read_catalogue(policy)
    recording = source.read()
    entries = Entries(recording)
    presets = [known_preset(name) for name in preset_names()]
    page = Page(
        recording=recording,
        window=resolve(recording, window).window,
        weights=weigh_recording(recording, entries, presets, window),
        waste=find_waste(recording, entries, presets, catalogue),
        strangers=strangers(recording, entries, catalogue),
        judgement=judge_recording(recording) if judged else None,
        predictions=predict_usage(recording, entries) if as_json else [],
    )
    if svg or html:
        _draw(page, svg, html)
    if as_json:
        print_json(describe(page))
    else:
        _print_page(page)
    return Exit.FAILED if page.judgement is not None and page.judgement.is_refused else Exit.OK


def _draw(page: Page, svg: Path | None, html: Path | None) -> None:
    picture, log = picture_of(page.recording, page.weights), page.recording.log
    if svg is not None:
        write_picture(svg, draw_svg(picture))
    if html is not None:
        write_picture(html, draw_page(picture, page.weights, page.waste, told_log(log) if log else ()))


def describe(page: Page) -> dict[str, Any]:
    """The page as one JSON object; sizes in estimated tokens, places as `seq` or index, shares from 0 to 1."""
    recording, weights = page.recording, page.weights
    judgement = {} if page.judgement is None else {"validation": _described(page.judgement)}
    return {
        "name": recording.name,
        "format": recording.format.value,
        "model": recording.model,
        "window": page.window,
        "entries": len(recording.messages),
        "model_calls": len(recording.calls),
        "tokens": weights.total,
        "by_kind": {sort.value: tokens for sort, tokens in weights.by_sort.items()},
        "largest": [
            {"seq": seq, "kind": sort.value, "tokens": tokens} for seq, sort, tokens in weights.heaviest
        ],
        "presets": [asdict(plan) for plan in weights.plans],
        **describe_waste(page.waste),
        "unknown_tools": page.strangers,
        "usage_predictions": page.predictions,
        **({} if recording.log is None else {"log": describe_log(recording.log)}),
        **judgement,
    }


def _described(judgement: Judgement) -> dict[str, Any]:
    return {
        "refused": judgement.is_refused,
        "breaches": [asdict(breach) for breach in judgement.breaches],
        "not_asked": list(judgement.silent),
    }


def _print_page(page: Page) -> None:
    from rich.console import Console

    console = Console()
    recording, weights = page.recording, page.weights
    console.print(
        f"{plain(recording.name)}: {recording.format}, {plain(recording.model or 'model unknown')}, "
        f"{counted(len(recording.messages), 'entry', 'entries')}, {counted(len(recording.calls), 'model call')}, "
        f"about {counted(weights.total, 'token')} (estimated), window {page.window:,}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    if recording.log is not None:
        print_log(console, recording.log)
    console.print(told_shares(weights, page.waste), highlight=False, soft_wrap=True, style="bold")
    tables = [
        *(_by_kind(weights), _heaviest(weights)),
        *(_fires(weights.plans, page.waste.clearing), _cuts(weights.plans, len(recording.messages))),
    ]
    if page.strangers:
        tables.insert(2, _unknown(page.strangers))
    for table in tables:
        console.print()
        console.print(table)
    print_waste(console, page.waste, weights.total)
    console.print()
    _print_legend(console, weights.plans)
    if page.judgement is not None:
        console.print()
        _print_judgement(console, page.judgement)


def _print_legend(console: Console, plans: tuple[Plan, ...]) -> None:
    lines = [
        "start: background work may begin; limit: a prepared candidate is adopted; hard: only here may a call wait.",
        "Under each stands the entry at which it is met if nothing is ever compacted.",
        "A cut lies in front of its entry; a summary covers what is before it, the rest stays word for word.",
        *(f"  {line}" for line in explained(plans)),
        LEGEND_OF_SIZES,
    ]
    console.print("\n".join(lines), style="dim", highlight=False, soft_wrap=True, markup=False)


def _print_judgement(console: Console, judgement: Judgement) -> None:
    if judgement.breaches:
        console.print(_breaches(judgement.breaches))
    verdict = (
        "The provider would refuse this list." if judgement.is_refused else "Nothing a provider refuses."
    )
    silent = (
        f" Not asked, for want of the request: {', '.join(judgement.silent)}." if judgement.silent else ""
    )
    console.print(verdict + silent, highlight=False, soft_wrap=True)


def _breaches(breaches: tuple[Breach, ...]) -> Table:
    table = _table("What breaks a rule", "entry", "rule", "severity")
    table.add_column("what it demands", overflow="fold")
    table.add_column("rests on", overflow="fold")
    for one in breaches:
        place = "request" if one.index < 0 else str(one.index)
        table.add_row(place, one.rule, one.severity, one.says, one.source)
    return table


def _unknown(found: dict[str, float]) -> Table:
    from rich.text import Text

    table = _table("Tools that no row of the catalogue describes", "share", "tool")
    for name, share in found.items():
        table.add_row(f"{share:.1%}", Text(plain(name)))
    return table


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


def _fires(plans: tuple[Plan, ...], clearing: dict[str, int]) -> Table:
    heads = ("preset", "start", "limit", "hard", "clearing alone saves")
    table = _table("When each preset would fire", *heads)
    for plan in plans:
        marks = (_mark(plan, name) for name in ("start", "limit", "hard"))
        saved = clearing.get(plan.preset)
        table.add_row(plan.preset, *marks, "not asked" if saved is None else f"{saved:,}")
    return table


def _cuts(plans: tuple[Plan, ...], entries: int) -> Table:
    heads = ("preset", "at the limit", "covers", "keeps", "now", "covers", "keeps")
    table = _table("Where it would cut", *heads)
    for plan in plans:
        table.add_row(plan.preset, *_told_cut(plan.at_limit, entries), *_told_cut(plan.now, entries))
    return table


def _told_cut(plan: CutPlan | None, entries: int) -> tuple[str, str, str]:
    if plan is None:
        return "never met", "", ""
    return (
        f"{told_place(plan, entries)}\n{short_reason(plan)}",
        short_size(plan.covered_tokens),
        short_size(plan.kept_tokens),
    )


def _mark(plan: Plan, name: str) -> str:
    met = plan.met_at[name]
    return f"{plan.limits[name]:,}\n" + ("never met" if met is None else f"entry {met}")


def _table(title: str, *columns: str) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE, title_style="bold", padding=(0, 1, 0, 0))
    for column in columns:
        numbers = column in {"tokens", "share", "covers", "keeps", "clearing alone saves"}
        table.add_column(column, justify="right" if numbers else "left", no_wrap=True)
    return table
