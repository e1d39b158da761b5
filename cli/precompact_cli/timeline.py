"""The play as a terminal shows it: a bar of the context's size, what happened, how it stands. Always on stderr."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from precompact_cli.moments import Event, Happening, Moment
from precompact_cli.plain import plain

SHOWN_EVENTS = 12
BAR = 64
PLAIN_EVERY = 25
"""Without a terminal every so many calls one line tells how it stands."""
_STYLES = {
    Happening.JOB: "cyan",
    Happening.READY: "blue",
    Happening.ADOPTED: "bold green",
    Happening.WAITED: "bold yellow",
    Happening.REDUCED: "bold yellow",
    Happening.OVERFLOW: "bold red",
    Happening.KEPT_GOING: "yellow",
    Happening.UNREACHABLE: "red",
    Happening.INVALID: "bold red",
}


class View(Protocol):
    """Whoever is told how the play goes."""

    def __enter__(self) -> Self:
        """Begins."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends."""

    def note(self, text: str) -> None:
        """A line about the play as a whole."""

    def show(self, moment: Moment) -> None:
        """How it stands now."""


class Silence:
    """Shows nothing; for `--json`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def note(self, text: str) -> None:
        """Nothing."""

    def show(self, moment: Moment) -> None:
        """Nothing."""


class Timeline:
    """A live picture on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console, title: str = "precompact") -> None:
        self._console = console
        self._title = title
        self._live = Live(console=console, refresh_per_second=8) if console.is_terminal else None
        self._events: deque[tuple[float, Event]] = deque(maxlen=SHOWN_EVENTS)
        self._counts: dict[Happening, int] = {}

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def note(self, text: str) -> None:
        """A line above the picture."""
        self._console.print(Text(plain(text), style="dim"), soft_wrap=True)

    def show(self, moment: Moment) -> None:
        """The newest state and what happened since the last one."""
        for event in moment.events:
            self._events.append((moment.session_s, event))
            self._counts[event.kind] = self._counts.get(event.kind, 0) + 1
            if self._live is None:
                self._console.print(event_line(moment.session_s, event), soft_wrap=True)
        if self._live:
            self._live.update(self._picture(moment))
        elif moment.call % PLAIN_EVERY == 0 or moment.call == moment.calls:
            self._console.print(state_line(moment), soft_wrap=True)

    def _picture(self, moment: Moment) -> RenderableType:
        events = [event_line(at_s, event) for at_s, event in self._events]
        counts = "   ".join(f"{kind.value} {count}" for kind, count in self._counts.items())
        rows = [
            progress_bar(moment),
            state_line(moment),
            size_bar(moment),
            Text(counts, style="dim"),
            Text(),
            *events,
        ]
        return Panel(Group(*rows), title=Text(plain(self._title)), title_align="left", border_style="dim")


def state_line(moment: Moment) -> Text:
    """Call, session time, entries and size in one line."""
    return Text(
        f"call {moment.call}/{moment.calls}   {clock(moment.session_s)}   {moment.length} entries   "
        f"{moment.tokens:,} of {moment.limit:,} tokens (hard {moment.hard:,})   prepare {moment.prepare_ms:.1f} ms"
    )


def progress_bar(moment: Moment, width: int = BAR) -> RenderableType:
    """How much of the session has been played, by session time."""
    bar = ProgressBar(total=max(moment.total_s, 1e-9), completed=moment.session_s, width=width + 2)
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row(bar, f"{min(1.0, moment.session_s / max(moment.total_s, 1e-9)):.0%} played")
    return row


def size_bar(moment: Moment, width: int = BAR) -> Text:
    """The context's size against soft limit (`|`) and hard limit (end of the bar)."""
    hard = max(moment.hard, 1)
    filled = min(width, round(width * moment.tokens / hard))
    mark = min(width - 1, round(width * moment.limit / hard))
    style = "green" if moment.tokens < moment.limit else "yellow" if moment.tokens < hard else "red"
    bar = Text("[")
    for place in range(width):
        if place == mark:
            bar.append("|", "bold")
        else:
            bar.append("█" if place < filled else "·", style if place < filled else "dim")
    return bar.append(f"] {moment.tokens / hard:.0%} of hard")


def event_line(at_s: float, event: Event) -> Text:
    """Session time, kind and what happened."""
    line = Text(f"{clock(at_s)}  ", style="dim")
    line.append(f"{event.kind.value:<11}", _STYLES[event.kind])
    return line.append(event.text, "default")


def clock(session_s: float) -> str:
    """Session time as h:mm:ss."""
    seconds = int(session_s)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
