"""Whose log a file is, and the session in it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from precompact_cli.exits import InputRefused
from precompact_cli.logs.assembling import assemble
from precompact_cli.logs.claude_code import ClaudeCode
from precompact_cli.logs.codex import Codex
from precompact_cli.logs.events import Reader
from precompact_cli.logs.gemini_checkpoint import GeminiCheckpoint
from precompact_cli.logs.gemini_cli import GeminiCli
from precompact_cli.logs.lines import read_head
from precompact_cli.logs.opencode import OpenCode
from precompact_cli.logs.opencode_database import SQLITE_HEADER, Database
from precompact_cli.logs.opencode_folder import Folder, folder_of
from precompact_cli.logs.opencode_store import Store, choose, read_store
from precompact_cli.logs.pi import Pi
from precompact_cli.logs.session import Session
from precompact_cli.logs.shelf import Cellar
from precompact_cli.logs.snapshot import open_snapshot

READERS: tuple[Reader, ...] = (ClaudeCode(), Codex(), Pi(), OpenCode(), GeminiCli(), GeminiCheckpoint())
"""Asked in this order; no two know each other's logs."""
_PLAIN_NAME = re.compile(r"[\w-]+")


def recognise_log(stream: BinaryIO) -> Reader | None:
    """The reader that knows this log by its beginning; None: it is none of theirs."""
    head = read_head(stream)
    return next((reader for reader in READERS if reader.recognise(head)), None)


def read_log(path: Path, session: str | None = None) -> Session | None:
    """The session in a file; None if it is no log of a tool known here.

    `session` names one of a store that keeps many; without it the newest is read. Raises OSError, and InputRefused for a
    database of something else and for a session that is not there.
    """
    if (found := find_store(path)) is not None:
        store, named = found
        sessions = store.sessions()
        chosen = choose(sessions, session or named)
        read = assemble(read_store(store, sessions, chosen), tool=OpenCode.tool, wire=OpenCode.format)
        return replace(read, kept_as=chosen.id)
    if session is not None:
        raise InputRefused("The file holds one session; only a store of OpenCode has several to choose from.")
    cellar = Cellar()
    log = _read_file(path, cellar)
    if log is None:
        return None
    beside = [_read_file(one, cellar) for one in _files_of_sub_agents(path, log)]
    told = [one for one in beside if one is not None and one.tool == log.tool and len(one.messages)]
    told.sort(key=lambda one: str(one.stamps[0]))
    return replace(log, sidechains=(*log.sidechains, *told))


def _read_file(path: Path, cellar: Cellar) -> Session | None:
    with open_snapshot(path) as stream:
        reader = recognise_log(stream)
        if reader is None:
            return None
        return assemble(reader.read(stream), tool=reader.tool, wire=reader.format, cellar=cellar)


def _files_of_sub_agents(path: Path, log: Session) -> list[Path]:
    """Where newer versions keep what the sub-agents of the session in this file said: a folder of its own beside it."""
    if log.tool == ClaudeCode.tool:
        return sorted(path.parent.joinpath(path.stem, "subagents").glob("agent-*.jsonl"))
    if log.tool == GeminiCli.tool and log.name and _PLAIN_NAME.fullmatch(log.name):
        return sorted(path.parent.joinpath(log.name).glob("*.jsonl"))
    return []


def find_store(path: Path) -> tuple[Store, str | None] | None:
    """The store at this path, and the session if the path names one; None if it is a file of its own.

    Raises OSError, and InputRefused for a database of something else.
    """
    if (found := folder_of(path)) is not None:
        return Folder(found[0]), found[1]
    if path.is_dir():
        return None
    with path.open("rb") as stream:
        is_database = stream.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    return (Database(path), None) if is_database else None
