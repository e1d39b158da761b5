"""Which recording a command is about: a file, or the newest log on this machine; which view of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from precompact_cli.exits import InputRefused
from precompact_cli.logs.places import newest_log
from precompact_cli.plain import plain
from precompact_cli.recording import Recording, read_recording
from precompact_cli.view import View
from precompact_shared.settings import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which file, and what of it."""

    file: Path
    view: View = View.HISTORY
    sidechain: int = 0
    """Number of a sub-agent of a log, from 1; 0 is the main thread."""
    session: str | None = None
    """Id of one of the sessions that the file keeps; None: the newest."""

    def read(self) -> Recording:
        """The recording. Raises InputRefused, which says what to do."""
        return read_recording(self.file, self.view, sidechain=self.sidechain, session=self.session)


def choose_source(
    file: Path | None, *, latest: bool, view: View, sidechain: int, session: str | None = None
) -> Source:
    """The source that was asked for. Raises InputRefused unless it is either a file or `latest`."""
    if (file is None) != latest:
        raise InputRefused("Name a file, or ask for the newest log with --latest; one of the two.")
    return Source(file=file or _newest(), view=view, sidechain=sidechain, session=session)


def choose_sources(
    files: Sequence[Path], *, latest: bool, view: View, sidechain: int, session: str | None = None
) -> list[Source]:
    """The same for one file or several."""
    found: Sequence[Path | None] = files or [None]
    return [
        choose_source(file, latest=latest, view=view, sidechain=sidechain, session=session) for file in found
    ]


def _newest() -> Path:
    """The newest log of this user, named on stderr."""
    found = newest_log(Path.home(), environment())
    if found is None:
        raise InputRefused(
            "There is no log of Claude Code, Codex, pi, OpenCode or Gemini CLI below the home folder; name a file."
        )
    sys.stderr.write(f"precompact: reading {plain(str(found))}\n")
    return found
