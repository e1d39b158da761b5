"""Where the tools keep their logs below the home folder, and the newest of them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from precompact_cli.logs.opening import recognise_log

PLACES = (
    ".claude/projects/*/*.jsonl",
    ".config/claude/projects/*/*.jsonl",
    ".codex/sessions/*/*/*/*.jsonl",
    ".pi/agent/sessions/*/*.jsonl",
    ".gemini/tmp/*/chats/session-*.json*",
)
"""Patterns below the home folder. OpenCode keeps its sessions in a database; `opencode export` writes one to a file."""


def newest_log(home: Path) -> Path | None:
    """The log that was written last and is one; None: there is none. Nothing outside the tools' places is looked at."""
    found = sorted(_logs(home), key=lambda one: one[0], reverse=True)
    return next((path for _, path in found if _is_log(path)), None)


def _logs(home: Path) -> Iterator[tuple[float, Path]]:
    for pattern in PLACES:
        for path in home.glob(pattern):
            try:
                yield path.stat().st_mtime, path
            except OSError:
                continue


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return recognise_log(stream) is not None
    except OSError:
        return False
