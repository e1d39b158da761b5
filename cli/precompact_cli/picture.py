"""One picture of a session: its context's size call by call, the tool's compactions, and where a preset's limits lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

WIDTH, HEIGHT = 960, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 146, 56, 44
MOST_POINTS = 800
"""A line with more keeps the largest of each stretch."""
_TICKS = 6
"""Steps of the y axis, at most about so many."""
_FAR = 4
"""A limit so many times above all that was seen is told without a line; what would lie so far above it is left out."""
_LABEL = 104
"""Width of a compaction's label."""
_STYLE = """
svg{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;background:#fff}
.ink{fill:#1f2933}.dim{fill:#66727f}.grid{stroke:#e4e8ec}.axis{stroke:#9aa5b1}
.told{fill:none;stroke:#1769aa;stroke-width:2;stroke-linejoin:round}.under{fill:#1769aa;opacity:.09}
.whole{fill:none;stroke:#9aa5b1;stroke-width:1.5;stroke-dasharray:5 4}
.start{stroke:#2e8540;fill:#2e8540}.limit{stroke:#b7791f;fill:#b7791f}.hard{stroke:#c53030;fill:#c53030}
.line{stroke-width:1.2;fill:none}.cut{stroke:#7b4fb5;stroke-width:1.2;stroke-dasharray:2 3}.cuttext{fill:#7b4fb5}
.halo{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}text.start,text.limit,text.hard{stroke:none}
@media(prefers-color-scheme:dark){svg{background:#14181d}.ink{fill:#e6eaee}.dim{fill:#97a3af}.grid{stroke:#262d35}
.axis{stroke:#55606c}.told{stroke:#5aa9e6}.under{fill:#5aa9e6}.whole{stroke:#66727f}.halo{stroke:#14181d}
.start{stroke:#68b984;fill:#68b984}.limit{stroke:#e0a94a;fill:#e0a94a}.hard{stroke:#ef7d7d;fill:#ef7d7d}
.cut{stroke:#b394e0}.cuttext{fill:#b394e0}}
"""

Points = Sequence[tuple[int, int]]
"""(entries, tokens), in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is drawn. Places on the x axis are numbers of entries, sizes tokens."""

    title: str
    subtitle: str
    entries: int
    measured: Points
    """Prompts as reported."""
    whole: Points
    """The estimated size if nothing were ever compacted."""
    thresholds: dict[str, int]
    """start, limit and hard of one preset."""
    met_at: dict[str, int] = field(default_factory=dict)
    """Number of entries with which each is met, where it is."""
    compactions: Sequence[tuple[int, int | None]]
    """Entry and size before, as the tool recorded it."""


def draw_svg(picture: Picture) -> str:
    """The picture as one SVG that needs nothing else."""
    frame = _Frame(picture)
    parts = [
        *_grid(frame),
        *_thresholds(frame, picture),
        *_curves(frame, picture),
        *_compactions(frame, picture),
        *_titles(picture),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(picture.title)}"><style>{_STYLE}</style>{"".join(parts)}</svg>'
    )


class _Frame:
    """Where things are on the paper."""

    def __init__(self, picture: Picture) -> None:
        peak = max((tokens for _, tokens in picture.measured), default=0)
        whole = picture.whole[-1][1] if picture.whole else 0
        hard = picture.thresholds.get("hard", 0)
        seen = peak or whole
        near = hard if hard <= _FAR * seen else 0
        most = max(seen, near, min(whole, _FAR * hard), 1) * 1.06
        self.step = _round_step(most / _TICKS)
        self.ticks = -(-int(most) // self.step)
        self.top = self.step * self.ticks
        self.entries = max(1, picture.entries)

    def x(self, entry: float) -> float:
        """Of a number of entries."""
        return round(LEFT + (WIDTH - LEFT - RIGHT) * entry / self.entries, 1)

    def y(self, tokens: float) -> float:
        """Of a size; what is beyond the top lies on its edge."""
        share = min(1.0, max(0.0, tokens / self.top))
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share, 1)


def thin_out(points: Points, most: int = MOST_POINTS) -> Points:
    """At most so many, the largest of each stretch, in order; the last stays."""
    if len(points) <= most:
        return points
    size = -(-len(points) // (most - 1))
    kept = [max(points[at : at + size], key=lambda one: one[1]) for at in range(0, len(points), size)]
    return [*kept, points[-1]]


def _round_step(least: float) -> int:
    scale = 1
    while scale * 10 <= least:
        scale *= 10
    return next(int(scale * nice) for nice in (1, 2, 2.5, 5, 10) if scale * nice >= least)


def _grid(frame: _Frame) -> Iterator[str]:
    for number in range(frame.ticks + 1):
        y = frame.y(number * frame.step)
        yield f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
        yield f'<text class="dim" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{short_size(number * frame.step)}</text>'
    step = _round_step(frame.entries / 8)
    for entry in range(0, frame.entries + 1, step):
        yield f'<text class="dim" x="{frame.x(entry)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{entry}</text>'
    yield f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'
    yield f'<text class="dim" x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">entries of the history</text>'


def _thresholds(frame: _Frame, picture: Picture) -> Iterator[str]:
    lowest = HEIGHT - BOTTOM + 14.0
    limits = sorted(picture.thresholds.items(), key=lambda one: one[1])
    if above := [f"{name} {short_size(tokens)}" for name, tokens in limits if tokens > frame.top]:
        yield f'<text class="dim" x="{LEFT}" y="{HEIGHT - 8}">far above: {", ".join(above)}</text>'
    for name, tokens in limits:
        if tokens > frame.top:
            continue
        y = frame.y(tokens)
        lowest = min(y + 4, lowest - 14)
        met = picture.met_at.get(name)
        place = "" if met is None else f", entry {met - 1}"
        yield f'<path class="line {name}" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
        yield f'<text class="{name}" x="{WIDTH - RIGHT + 6}" y="{lowest}">{name} {short_size(tokens)}{place}</text>'
        if met is not None:
            yield f'<circle class="{name}" cx="{frame.x(met)}" cy="{y}" r="4"><title>{name} met{place}</title></circle>'


def _curves(frame: _Frame, picture: Picture) -> Iterator[str]:
    if picture.whole:
        yield f'<path class="whole" d="{_path(frame, picture.whole)}"/>'
    for points in map(thin_out, _runs(picture)):
        first, last = frame.x(points[0][0]), frame.x(points[-1][0])
        ground = HEIGHT - BOTTOM
        yield f'<path class="under" d="{_path(frame, points)}L{last} {ground}L{first} {ground}Z"/>'
        yield f'<path class="told" d="{_path(frame, points)}"/>'


def _runs(picture: Picture) -> Iterator[Points]:
    """What was reported between one compaction and the next."""
    borders = sorted({0, *(entry for entry, _ in picture.compactions), picture.entries + 1})
    for start, stop in pairwise(borders):
        if run := [one for one in picture.measured if start <= one[0] < stop]:
            yield run


def _path(frame: _Frame, points: Points) -> str:
    inside = [one for one in points if one[1] <= frame.top]
    beyond = next((one for one in points if one[1] > frame.top), None)
    drawn = thin_out([*inside, beyond] if beyond and inside and beyond[0] > inside[-1][0] else inside)
    return "M" + "L".join(f"{frame.x(entry)} {frame.y(tokens)}" for entry, tokens in drawn) if drawn else ""


def _compactions(frame: _Frame, picture: Picture) -> Iterator[str]:
    free = [0.0, 0.0, 0.0]
    for entry, tokens in picture.compactions:
        x = frame.x(entry)
        yield f'<path class="cut" d="M{x} {TOP}V{HEIGHT - BOTTOM}"/>'
        left = min(x + 5, WIDTH - RIGHT - _LABEL)
        row = next((row for row, taken in enumerate(free) if taken <= left), None)
        if row is not None:
            free[row] = left + _LABEL
            size = f" {short_size(tokens)}" if tokens else ""
            yield f'<text class="cuttext halo" x="{left}" y="{TOP + 12 + 15 * row}">compacted{size}</text>'


def _titles(picture: Picture) -> Iterator[str]:
    yield f'<text class="ink" x="{LEFT}" y="22" font-size="16" font-weight="600">{escape(picture.title)}</text>'
    yield f'<text class="dim" x="{LEFT}" y="41">{escape(picture.subtitle)}</text>'
    x = WIDTH - RIGHT + 6
    legend = [("told", "prompt, reported")] if picture.measured else []
    legend += [("whole", "if never compacted")] if picture.whole else []
    for number, (style, text) in enumerate(legend):
        y = 16 + 16 * number
        yield f'<path class="{style}" d="M{x - 30} {y}h24"/><text class="dim" x="{x}" y="{y + 4}">{text}</text>'


def short_size(tokens: int) -> str:
    """Three digits, and k or M."""
    if tokens >= 999_500:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1000:.3g}k" if tokens >= 1000 else str(tokens)
