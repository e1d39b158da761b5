"""Where the tools keep their logs below the home folder, and the newest of them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from precompact_cli.exits import InputRefused
from precompact_cli.logs.opening import find_store, recognise_log


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tool keeps what it writes: in the folder that a variable names, or in one of these below the home."""

    variable: str
    folders: tuple[str, ...]
    pattern: str


LOGS = (
    Place("CLAUDE_CONFIG_DIR", (".claude", ".config/claude"), "projects/*/*.jsonl"),
    Place("CODEX_HOME", (".codex",), "sessions/*/*/*/*.jsonl"),
    Place("PI_CODING_AGENT_DIR", (".pi/agent",), "sessions/*/*.jsonl"),
    Place("GEMINI_CLI_HOME", (".",), ".gemini/tmp/*/chats/session-*.json*"),
)
"""One session in each file."""
STORES = (
    Place("XDG_DATA_HOME", (".local/share",), "opencode/opencode*.db"),
    Place("XDG_DATA_HOME", (".local/share",), "opencode/storage"),
)
"""Where OpenCode keeps all its sessions; they tell themselves when they were written last."""
_OF_SUB_AGENTS = "agent-"
"""How the names of Claude Code's files begin that hold a sub-agent's part of a session."""


def newest_log(home: Path, variables: Mapping[str, str] | None = None) -> Path | None:
    """The log, or the store with the session, that was written last; None: there is none. No other place is looked at.

    `variables`: the environment, which may name other folders; the usual ones are looked at as well.
    """
    found = sorted(_logs(home, variables or {}), key=lambda one: one[0], reverse=True)
    return next((path for _, path in found if _is_log(path)), None)


def _logs(home: Path, variables: Mapping[str, str]) -> Iterator[tuple[float, Path]]:
    for path in _files(LOGS, home, variables):
        if path.name.startswith(_OF_SUB_AGENTS):
            continue
        try:
            yield path.stat().st_mtime, path
        except OSError:
            continue
    for path in _files(STORES, home, variables):
        if (written_ms := _written_ms(path)) is not None:
            yield written_ms / 1_000, path


def _files(places: Iterable[Place], home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    for place in places:
        named = variables.get(place.variable)
        for folder in (*([Path(named).expanduser()] if named else []), *map(home.joinpath, place.folders)):
            yield from folder.glob(place.pattern)


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
