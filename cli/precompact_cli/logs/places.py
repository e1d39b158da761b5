"""Where the tools keep their logs below the home folder, and the newest of them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from precompact_cli.exits import InputRefused
from precompact_cli.logs.opening import find_store, recognise_log

PLACES = (
    ".claude/projects/*/*.jsonl",
    ".config/claude/projects/*/*.jsonl",
    ".codex/sessions/*/*/*/*.jsonl",
    ".pi/agent/sessions/*/*.jsonl",
    ".gemini/tmp/*/chats/session-*.json*",
)
"""Patterns below the home folder, of logs that hold one session each."""
_OF_SUB_AGENTS = "agent-"
"""How the names of Claude Code's files begin that hold a sub-agent's part of a session."""
STORES = (".local/share/opencode/opencode*.db", ".local/share/opencode/storage")
"""Where OpenCode keeps all its sessions; they tell themselves when they were written last."""


def newest_log(home: Path) -> Path | None:
    """The log, or the store with the session, that was written last; None: there is none. No other place is looked at."""
    found = sorted(_logs(home), key=lambda one: one[0], reverse=True)
    return next((path for _, path in found if _is_log(path)), None)


def _logs(home: Path) -> Iterator[tuple[float, Path]]:
    for pattern in PLACES:
        for path in home.glob(pattern):
            if path.name.startswith(_OF_SUB_AGENTS):
                continue
            try:
                yield path.stat().st_mtime, path
            except OSError:
                continue
    for pattern in STORES:
        for path in home.glob(pattern):
            if (written_ms := _written_ms(path)) is not None:
                yield written_ms / 1_000, path


def _written_ms(path: Path) -> int | None:
    """When the newest session of a store was written; None where there is none to be read."""
    try:
        found = find_store(path)
        return None if found is None else max((one.updated_ms for one in found[0].sessions()), default=None)
    except (OSError, InputRefused):
        return None


def _is_log(path: Path) -> bool:
    try:
        if find_store(path) is not None:
            return True
        with path.open("rb") as stream:
            return recognise_log(stream) is not None
    except (OSError, InputRefused):
        return False
