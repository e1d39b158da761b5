"""OpenCode's database, opened for reading alone: `session`, `message`, `part`, and since version 2 their successors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from precompact_cli.exits import InputRefused
from precompact_cli.logs.events import Skipped
from precompact_cli.logs.lines import parse_object
from precompact_cli.logs.opencode_rows import item_of
from precompact_cli.logs.opencode_store import Kept, Row, joined

SQLITE_HEADER = b"SQLite format 3\0"
_BROKEN = "the database cannot be read from here on"
_SESSIONS, _SESSIONS_2 = "session", "session_v2"
_MESSAGES, _PARTS, _MESSAGES_2 = "message", "part", "session_message"
_COLUMNS = ("id", "parent_id", "title", "time_updated", "revert")


class Database:
    """One `opencode.db`. A session that version 2 has taken over is read from its tables, any other from the old ones."""

    def __init__(self, path: Path) -> None:
        """Raises InputRefused unless it is a database of OpenCode."""
        self._path = path
        try:
            with closing(self._connect()) as database:
                self._tables = _tables(database)
        except sqlite3.Error:
            raise InputRefused("The database cannot be read; it is damaged or no database.") from None
        self._has_1 = self._tables >= {_SESSIONS, _MESSAGES, _PARTS}
        self._has_2 = _MESSAGES_2 in self._tables and not self._tables.isdisjoint({_SESSIONS, _SESSIONS_2})
        if not (self._has_1 or self._has_2):
            raise InputRefused("The database is none of OpenCode's; give its `opencode.db`, or another log.")

    def sessions(self) -> Sequence[Kept]:
        """All of them, each once. Raises InputRefused where they cannot be read."""
        kept: dict[str, Kept] = {}
        try:
            with closing(self._connect()) as database:
                for table in (_SESSIONS, _SESSIONS_2):
                    if table in self._tables:
                        kept.update((one.id, one) for one in _sessions(database, table))
        except sqlite3.Error:
            raise InputRefused("The database's sessions cannot be read; it is damaged.") from None
        return list(kept.values())

    def rows(self, session: str) -> Iterator[Row]:
        """A session's messages in order."""
        number = 0
        try:
            with closing(self._connect()) as database:
                read = _rows_2 if self._is_new(database, session) else _rows_1
                for number, found in read(database, session):
                    yield number, found
        except sqlite3.Error:
            yield number + 1, _BROKEN

    def _is_new(self, database: sqlite3.Connection, session: str) -> bool:
        """Version 1 has the new messages' table too, as a projection that need not be whole."""
        if not (self._has_1 and self._has_2):
            return self._has_2
        is_2 = _SESSIONS_2 in self._tables
        table = _MESSAGES_2 if is_2 else _MESSAGES
        found = database.execute(f"SELECT 1 FROM {table} WHERE session_id = ? LIMIT 1", (session,)).fetchone()  # noqa: S608
        return (found is not None) == is_2

    def _connect(self) -> sqlite3.Connection:
        """Texts come as bytes: what is no UTF-8 is damage of one row. Written to meanwhile, it shows one moment."""
        where = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        database = sqlite3.connect(where, uri=True)
        database.text_factory = bytes
        try:
            database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except sqlite3.OperationalError:  # a folder that nobody may write to: no place for the log's index
            database.close()
            database = sqlite3.connect(f"{where}&immutable=1", uri=True)
            database.text_factory = bytes
        return database


def _tables(database: sqlite3.Connection) -> frozenset[str]:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(_text(name) for (name,) in rows)


def _columns(database: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(_text(row[1]) for row in database.execute(f"PRAGMA table_info({table})"))


def _sessions(database: sqlite3.Connection, table: str) -> Iterator[Kept]:
    there = _columns(database, table)
    columns = ", ".join(name if name in there else "NULL" for name in _COLUMNS)
    for name, parent, title, updated, revert in database.execute(f"SELECT {columns} FROM {table}"):  # noqa: S608
        taken = parse_object(revert) if isinstance(revert, bytes) else {}
        yield Kept(
            _text(name),
            _text(parent) or None,
            _text(title) or None,
            updated if type(updated) is int else 0,
            taken if isinstance(taken, dict) else {},
        )


def _rows_1(database: sqlite3.Connection, session: str) -> Iterator[Row]:
    rows = database.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    )
    for number, (key, data) in enumerate(rows, 1):
        name = _text(key)
        parts = database.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (name,))
        yield from joined(number, name, _object(data), [_object(part) for (part,) in parts])


def _rows_2(database: sqlite3.Connection, session: str) -> Iterator[Row]:
    order = (
        "seq, id" if "seq" in _columns(database, _MESSAGES_2) else "time_created, id"
    )  # the table's first form
    rows = database.execute(
        f"SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY {order}",  # noqa: S608
        (session,),
    )
    for number, (name, kind, data) in enumerate(rows, 1):
        told = _object(data)
        if isinstance(told, str):
            yield number, told
        else:
            yield number, item_of(_text(kind), _text(name), told) or Skipped(_text(kind)[:60])


def _object(data: Any) -> dict[str, Any] | str:
    return parse_object(data) if isinstance(data, bytes) else "no JSON"


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""
