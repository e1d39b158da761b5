"""The picture of a session, and a page around it with the figures: one file each, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from precompact_cli.cut_words import LEGEND_OF_SIZES, explained, short_reason, told_place
from precompact_cli.exits import InputRefused
from precompact_cli.picture import Picture, draw_svg, thin_out
from precompact_cli.plain import counted, plain
from precompact_cli.recording import Recording
from precompact_cli.waste import Waste, reported_sizes
from precompact_cli.waste_page import told_sent, told_shares
from precompact_cli.weighing import CutPlan, Plan, Weights
from precompact_shared.engine.preset import DEFAULT_PRESET

SHOWN = 8
_STYLE = """
body{margin:0 auto;max-width:1000px;padding:24px;font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
color:#1f2933;background:#fff}svg{width:100%;height:auto}h2{font-size:16px;margin:28px 0 6px}
table{border-collapse:collapse;width:100%}td,th{padding:3px 12px 3px 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.w{overflow-wrap:anywhere}td:first-child:not(.w){white-space:nowrap}
tr+tr{border-top:1px solid #e4e8ec}td.b{width:45%;vertical-align:middle}small{display:block;color:#66727f}
i{display:block;height:12px;background:#1769aa;border-radius:2px}
p{margin:6px 0}p.l{color:#66727f;font-size:13px}
@media(prefers-color-scheme:dark){body{color:#e6eaee;background:#14181d}tr+tr{border-color:#262d35}
small,p.l{color:#97a3af}i{background:#5aa9e6}}
"""
_LEGEND = (
    '<p class="l">start: background work may begin; limit: a prepared candidate is adopted; hard: only here may a call wait. '
    "Under each stands the entry at which it is met if nothing is ever compacted. A cut lies in front of its entry. "
    f"{LEGEND_OF_SIZES}"
)


def picture_of(recording: Recording, weights: Weights) -> Picture:
    """What there is to draw, with the limits of the default preset."""
    plan = next(plan for plan in weights.plans if plan.preset == DEFAULT_PRESET)
    log = recording.log
    is_whole = log is not None and log.messages is recording.messages
    boundaries = log.boundaries if log is not None and is_whole else ()
    return Picture(
        title=plain(recording.name),
        subtitle=f"{plain(recording.model or 'model unknown')} · {counted(len(recording.messages), 'entry', 'entries')} · "
        f"{counted(len(recording.calls), 'model call')} · about {weights.total:,} tokens in all · limits of the preset {plan.preset}",
        entries=len(recording.messages),
        measured=reported_sizes(recording),
        whole=thin_out(list(enumerate(weights.sizes))),
        thresholds=plan.limits,
        met_at={name: entry + 1 for name, entry in plan.met_at.items() if entry is not None},
        compactions=[(one.at, one.tokens_before) for one in boundaries],
    )


def draw_page(picture: Picture, weights: Weights, waste: Waste, told: Sequence[str] = ()) -> str:
    """The picture with the figures below it, as HTML; `told`: lines about the log."""
    parts = [
        draw_svg(picture),
        f"<p><b>{told_shares(weights, waste)}</b></p>",
        f'<p class="l">{"<br>".join(map(escape, told))}</p>' if told else "",
        _sizes(weights),
        _largest(weights),
        _waste(waste, weights.total),
        _rereads(waste),
        _plans(weights, waste, picture.entries),
    ]
    title = escape(picture.title)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>{"".join(parts)}</html>\n'
    )


def check_targets(log: Path, svg: Path | None, html: Path | None) -> None:
    """Raises InputRefused where a picture would take the place of the log, or of the other one."""
    targets = [path for path in (svg, html) if path is not None]
    if len({path.absolute() for path in targets}) < len(targets):
        raise InputRefused("--svg and --html name the same file; give one of them another path.")
    if any(path.exists() and log.exists() and path.samefile(log) for path in targets):
        raise InputRefused("The picture would take the place of the log; give it another path.")


def write_picture(path: Path, text: str) -> None:
    """Writes a file. Raises InputRefused, which says why it cannot."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputRefused(
            f"The picture cannot be written ({error.strerror}); give it another path."
        ) from None


def _sizes(weights: Weights) -> str:
    most = max(weights.by_sort.values(), default=1)
    rows = (
        f'<tr><td>{sort.value}<td class="n">{tokens:,}<td class="n">{tokens / max(1, weights.total):.0%}'
        f'<td class="b"><i style="width:{100 * tokens / most:.1f}%"></i>'
        for sort, tokens in sorted(weights.by_sort.items(), key=lambda one: -one[1])
    )
    return _table("What it is made of", ("kind", "tokens", "share", ""), rows)


def _largest(weights: Weights) -> str:
    most = max((tokens for _, _, tokens in weights.heaviest), default=1)
    rows = (
        f'<tr><td>{seq}<td class="n">{sort.value}<td class="n">{tokens:,}'
        f'<td class="b"><i style="width:{100 * tokens / max(1, most):.1f}%"></i>'
        for seq, sort, tokens in weights.heaviest[:SHOWN]
    )
    return _table("Largest entries", ("entry", "mostly", "tokens", ""), rows)


def _waste(waste: Waste, total: int) -> str:
    share = waste.dead / max(1, total)
    lines = [
        f"Dead weight: {waste.dead:,} tokens ({share:.0%}) of reads out of date or there twice.",
        *(f"{line}." for line in told_sent(waste.sent)),
    ]
    return "<h2>What it carried along</h2>" + "".join(f"<p>{escape(line)}</p>" for line in lines)


def _rereads(waste: Waste) -> str:
    if not waste.rereads:
        return ""
    rows = (
        f'<tr><td class="w">{escape(plain(one.path))}<td class="n">{one.times}<td class="n">{one.tokens:,}'
        for one in waste.rereads[:SHOWN]
    )
    return _table("Files read more than once", ("file", "times", "tokens of all but the newest"), rows)


def _plans(weights: Weights, waste: Waste, entries: int) -> str:
    rows = []
    for plan in weights.plans:
        saved = f"{waste.clearing[plan.preset]:,}" if plan.preset in waste.clearing else ""
        marks = (_mark(plan, name) for name in ("start", "limit", "hard"))
        cells = (*marks, *(_cut(one, entries) for one in (plan.at_limit, plan.now)), saved)
        rows.append(f"<tr><td>{escape(plan.preset)}" + "".join(f'<td class="n">{cell}' for cell in cells))
    heads = ("preset", "start", "limit", "hard", "cut at the limit", "cut now", "clearing alone saves")
    return _table("When each preset would fire, and where it would cut", heads, rows) + _legend(weights)


def _legend(weights: Weights) -> str:
    return _LEGEND + "".join(f"<br>{escape(line)}" for line in explained(weights.plans))


def _mark(plan: Plan, name: str) -> str:
    met = plan.met_at[name]
    place = "never met" if met is None else f"entry {met}"
    return f"{plan.limits[name]:,}<small>{place}</small>"


def _cut(plan: CutPlan | None, entries: int) -> str:
    if plan is None:
        return "<small>never met</small>"
    more = f"covers {plan.covered_tokens:,}, keeps {plan.kept_tokens:,}"
    return f"{told_place(plan, entries)}<small>{escape(short_reason(plan))}</small><small>{more}</small>"


def _table(title: str, heads: tuple[str, ...], rows: Iterable[str]) -> str:
    first, *rest = heads
    head = f"<th>{first}" + "".join(f'<th class="n">{one}' for one in rest)
    return f"<h2>{title}</h2><table><tr>{head}{''.join(rows)}</table>"
