"""Which recording a command is about: a file, or the newest log on this machine; which view of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from precompact_cli.exits import InputRefused
from precompact_cli.logs.places import newest_log
from precompact_cli.recording import Recording, read_recording
from precompact_cli.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """`file` None: the newest log below the home folder, named on stderr when it is read."""

    file: Path | None
    view: View = View.HISTORY
    sidechain: int = 0
    """Number of a sub-agent of a log, from 1; 0 is the main thread."""

    def read(self) -> Recording:
        """The recording. Raises InputRefused, which says what to do."""
        return read_recording(self.file or _newest(), self.view, sidechain=self.sidechain)


def choose_source(file: Path | None, *, latest: bool, view: View, sidechain: int) -> Source:
    """The source that was asked for. Raises InputRefused unless it is either a file or `latest`."""
    if (file is None) != latest:
        raise InputRefused("Name a file, or ask for the newest log with --latest; one of the two.")
    return Source(file=file, view=view, sidechain=sidechain)


def _newest() -> Path:
    found = newest_log(Path.home())
    if found is None:
        raise InputRefused(
            "There is no log of Claude Code, Codex, pi or Gemini CLI below the home folder; name a file."
        )
    sys.stderr.write(f"precompact: reading {found}\n")
    return found
