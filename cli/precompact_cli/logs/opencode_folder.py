"""OpenCode's older store, a folder of small files: `session/<project>/<id>.json`, `message/<session>`, `part/<message>`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from precompact_cli.logs.lines import count_of, parse_object, record, text_of
from precompact_cli.logs.opencode_store import Kept, Read, Row, joined


class Folder:
    """One `storage` folder. Ids rise with time: files are read in the order of their names."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sessions(self) -> Sequence[Kept]:
        """All of them; files that cannot be read are left out."""
        return [
            kept
            for path in sorted(self._path.glob("session/*/*.json"))
            if (kept := _kept(path.stem, read_object(path))) is not None
        ]

    def rows(self, session: str) -> Iterator[Row]:
        """A session's messages in order."""
        for number, path in enumerate(sorted((self._path / "message" / session).glob("*.json")), 1):
            parts = [read_object(one) for one in sorted((self._path / "part" / path.stem).glob("*.json"))]
            yield from joined(number, path.stem, read_object(path), parts)


def folder_of(path: Path) -> tuple[Path, str | None] | None:
    """The store that a path stands for, and the session if it names one; None if it is no such store.

    The `storage` folder, the one above it, or a session's own file in it.
    """
    for root in (path, path / "storage"):
        if (root / "session").is_dir() and (root / "message").is_dir():
            return root, None
    root = path.parent.parent.parent
    if path.is_file() and path.parent.parent.name == "session" and (root / "message").is_dir():
        return root, path.stem
    return None


def read_object(path: Path) -> Read:
    """The object in a file, or why there is none."""
    try:
        return parse_object(path.read_bytes())
    except OSError:
        return "cannot be read"


def _kept(name: str, info: Read) -> Kept | None:
    if isinstance(info, str):
        return None
    updated = count_of(record(info.get("time")).get("updated"))
    parent, title = text_of(info.get("parentID")), text_of(info.get("title"))
    return Kept(name, parent, title, updated, record(info.get("revert")))
