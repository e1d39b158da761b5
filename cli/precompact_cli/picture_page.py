"""The picture of a session, and a page around it with the figures: one file each, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from precompact_cli.exits import InputRefused
from precompact_cli.offline import Entries
from precompact_cli.picture import Picture, draw_svg, thin_out
from precompact_cli.plain import plain
from precompact_cli.recording import Recording
from precompact_cli.waste import Waste, reported_sizes
from precompact_cli.weighing import Weights
from precompact_shared.engine.preset import DEFAULT_PRESET

SHOWN = 8
_FIRST_CALLS = 3
"""Of these the smallest rest is what every prompt holds besides: the system text and tools that logs leave out."""
_STYLE = """
body{margin:0 auto;max-width:1000px;padding:24px;font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
color:#1f2933;background:#fff}svg{width:100%;height:auto}h2{font-size:16px;margin:28px 0 6px}
table{border-collapse:collapse;width:100%}td,th{padding:3px 12px 3px 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.w{overflow-wrap:anywhere}
tr+tr{border-top:1px solid #e4e8ec}td.b{width:45%}i{display:block;height:12px;background:#1769aa;border-radius:2px}
p{margin:6px 0}
@media(prefers-color-scheme:dark){body{color:#e6eaee;background:#14181d}tr+tr{border-color:#262d35}i{background:#5aa9e6}}
"""


def picture_of(recording: Recording, entries: Entries, weights: Weights) -> Picture:
    """What there is to draw, with the limits of the default preset."""
    plan = next(plan for plan in weights.plans if plan.preset == DEFAULT_PRESET)
    upto = entries.upto
    log = recording.log
    is_whole = log is not None and log.messages is recording.messages
    boundaries = log.boundaries if log is not None and is_whole else ()
    measured = reported_sizes(recording)
    unseen = min((size - upto[place] for place, size in measured[:_FIRST_CALLS]), default=0)
    fixed = max(weights.total - entries.total, unseen)
    return Picture(
        title=plain(recording.name),
        subtitle=f"{plain(recording.model or 'model unknown')} · {len(recording.messages):,} entries · "
        f"{len(recording.calls):,} model calls · about {weights.total:,} tokens in all · limits of the preset {plan.preset}",
        entries=len(recording.messages),
        measured=measured,
        whole=thin_out([(place, fixed + tokens) for place, tokens in enumerate(upto)]),
        thresholds=plan.limits,
        compactions=[(one.at, one.tokens_before) for one in boundaries],
    )


def draw_page(picture: Picture, weights: Weights, waste: Waste) -> str:
    """The picture with the figures below it, as HTML."""
    parts = [
        draw_svg(picture),
        _sizes(weights),
        _waste(waste),
        _rereads(waste),
        _plans(weights, waste),
    ]
    title = escape(picture.title)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>{"".join(parts)}</html>\n'
    )


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


def _waste(waste: Waste) -> str:
    sent = waste.sent
    told = "estimated" if sent.is_estimated else "as reported"
    share = sent.again / sent.tokens if sent.tokens else 0
    return (
        f"<h2>What it carried along</h2><p>{waste.dead:,} tokens of read results are out of date or there twice.</p>"
        f"<p>{sent.calls:,} calls were sent {sent.tokens:,} tokens ({told}); {share:.0%} of these had been in the prompt "
        "before.</p>"
    )


def _rereads(waste: Waste) -> str:
    if not waste.rereads:
        return ""
    rows = (
        f'<tr><td class="w">{escape(plain(one.path))}<td class="n">{one.times}<td class="n">{one.tokens:,}'
        for one in waste.rereads[:SHOWN]
    )
    return _table("Files read more than once", ("file", "times", "tokens of all but the newest"), rows)


def _plans(weights: Weights, waste: Waste) -> str:
    rows = []
    for plan in weights.plans:
        met = "never" if plan.met_at["limit"] is None else f"entry {plan.met_at['limit']}"
        cut = "none" if plan.cut is None else f"entry {plan.cut}"
        saved = f"{waste.clearing[plan.preset]:,}" if plan.preset in waste.clearing else ""
        rows.append(
            f'<tr><td>{escape(plan.preset)}<td class="n">{plan.limits["limit"]:,}<td class="n">{met}<td class="n">{cut}'
            f'<td class="n">{plan.covered_tokens:,}<td class="n">{saved}'
        )
    heads = ("preset", "limit", "met at", "cut now", "covers", "clearing alone saves")
    return _table("What each preset would do", heads, rows)


def _table(title: str, heads: tuple[str, ...], rows: Iterable[str]) -> str:
    first, *rest = heads
    head = f"<th>{first}" + "".join(f'<th class="n">{one}' for one in rest)
    return f"<h2>{title}</h2><table><tr>{head}{''.join(rows)}</table>"
