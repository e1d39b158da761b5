"""Whose log a file is, and the session in it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from precompact_cli.logs.assembling import assemble
from precompact_cli.logs.claude_code import ClaudeCode
from precompact_cli.logs.codex import Codex
from precompact_cli.logs.events import Reader
from precompact_cli.logs.gemini_cli import GeminiCli
from precompact_cli.logs.lines import read_head
from precompact_cli.logs.opencode import OpenCode
from precompact_cli.logs.pi import Pi
from precompact_cli.logs.session import Session

READERS: tuple[Reader, ...] = (ClaudeCode(), Codex(), Pi(), OpenCode(), GeminiCli())
"""Asked in this order; no two know each other's logs."""


def recognise_log(stream: BinaryIO) -> Reader | None:
    """The reader that knows this log by its beginning; None: it is none of theirs."""
    head = read_head(stream)
    return next((reader for reader in READERS if reader.recognise(head)), None)


def read_log(path: Path) -> Session | None:
    """The session in a file; None if it is no log of a tool known here. Raises OSError."""
    with path.open("rb") as stream:
        reader = recognise_log(stream)
        if reader is None:
            return None
        return assemble(reader.read(stream), tool=reader.tool, wire=reader.format)
