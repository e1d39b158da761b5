"""A log is read in the memory of its largest entry and an index, however long it is."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from precompact_cli.logs.opening import read_log
from precompact_cli.logs.shelf import Cellar
from tests.unit.cli.logs import test_chat_tools as chat
from tests.unit.cli.logs import test_claude_code as claude
from tests.unit.cli.logs import test_codex as codex
from tests.unit.cli.logs import test_opencode_stores as stores
from tests.unit.cli.logs import test_pi as pi
from tests.unit.cli.logs.opencode_stores import write_database, write_database_2, write_folder

ENTRY_CHARS = 100_000
SHORT, LONG = 60, 180
"""Entries of the two logs that are compared, both longer than the head by which a log is recognised."""
MOST_BYTES = 2_000_000
"""What reading the longer may take more than the shorter; all of it would be six times as much."""
Write = Callable[[Path, int], Path]


def _lines(path: Path, objects: Iterator[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(one) + "\n" for one in objects)
    return path


def _text(number: int) -> str:
    return f"{number} ".ljust(ENTRY_CHARS, "x")


def write_claude(path: Path, entries: int) -> Path:
    """Prompts and nothing else, each below the one before; so are the others."""
    return _lines(
        path,
        (claude.prompt(f"n{one}", f"n{one - 1}" if one else None, text=_text(one)) for one in range(entries)),
    )


def write_codex(path: Path, entries: int) -> Path:
    """With a header."""
    return _lines(
        path, (codex.META if not one else codex.item("user", _text(one)) for one in range(entries + 1))
    )


def write_pi(path: Path, entries: int) -> Path:
    """With a header."""
    return _lines(
        path, (pi.HEADER if not one else pi.entry("user", _text(one)) for one in range(entries + 1))
    )


def write_gemini(path: Path, entries: int) -> Path:
    """One change a line."""
    told = (chat.gemini(f"g{one}", "user", _text(one)) for one in range(entries))
    return _lines(path, (chat.GEMINI if one is None else one for one in [None, *told]))


def write_opencode(path: Path, entries: int) -> Path:
    """One document on one line."""
    path.write_bytes(chat.opencode(*(chat.told("user", chat.text(_text(one))) for one in range(entries))))
    return path


def _store(write: Callable[..., Path]) -> Write:
    def written(path: Path, entries: int) -> Path:
        return write(path, [stores.session("ses_1", *(stores.user(_text(one)) for one in range(entries)))])

    return written


@pytest.mark.parametrize(
    "write",
    [
        write_claude,
        write_codex,
        write_pi,
        write_gemini,
        write_opencode,
        _store(write_database),
        _store(write_database_2),
        _store(write_folder),
    ],
    ids=["claude-code", "codex", "pi", "gemini-cli", "opencode", "database", "database 2", "folder"],
)
def test_a_log_three_times_as_long_takes_no_more_memory(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages go to a file of their own early here, so that the reader's own memory shows."""
    monkeypatch.setattr(Cellar.__init__, "__defaults__", (100_000,))
    short, long = (write(tmp_path / str(entries), entries) for entries in (SHORT, LONG))
    least, most = _peak(short, SHORT), _peak(long, LONG)
    assert most - least < MOST_BYTES


def _peak(path: Path, entries: int) -> int:
    tracemalloc.start()
    try:
        found = read_log(path)
        assert found is not None
        assert len(found.messages) == entries
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
