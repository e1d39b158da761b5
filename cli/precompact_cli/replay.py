"""`replay`: recordings played through a service that runs already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from precompact_cli.exits import Exit, print_json
from precompact_cli.show import announce, is_sound, play, rehearse, view_of
from precompact_shared.engine.preset import DEFAULT_PRESET
from precompact_shared.processes import interruptible


def run_replay(
    files: Sequence[Path], *, url: str, key: str, speed: float | None, window: int | None, quiet: bool
) -> Exit:
    """One after the other; a line of figures for each."""
    sound = True
    with interruptible():
        for file in files:
            part = rehearse(file, window=window, speed=speed, preset=DEFAULT_PRESET)
            with view_of(quiet=quiet) as view:
                announce(view, part, "summaries by the service's own provider, which is not sped up")
                figures = play(part, view, url=url, key=key, summariser_s=None)
            print_json(figures)
            sound = sound and is_sound(figures)
    return Exit.OK if sound else Exit.FAILED
