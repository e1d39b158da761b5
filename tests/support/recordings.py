"""Recorded conversations of real agents. They belong to others: read where they lie, never copied into the repository.

They lie in `shared/data` beside the checkout. Without the folder the tests that need it are skipped and say so; with it
a skipped one is a failure. The run's last lines tell how many were used.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
used: set[str] = set()
"""Names of the recordings and cases that this run has looked at."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One file: its name without ending, and what it says (`format`, `system`, `tools`, `messages`, `usage`, …)."""

    name: str
    path: Path

    def load(self) -> dict[str, Any]:
        """The parsed file; counts as used."""
        used.add(self.name)
        content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return content


@lru_cache(maxsize=1)
def data_dir() -> Path | None:
    """The folder with `dev` and `cases`, beside the checkout or beside the repository a work tree belongs to."""
    for root in (CHECKOUT, _repository()):
        found = root.parent / "shared" / "data"
        if (found / "dev").is_dir():
            return found
    return None


def recordings() -> list[Recording]:
    """Every recording by name; empty when the folder is absent. Use with `@needs_recordings`."""
    return _listed("dev", "")


@dataclass(frozen=True, slots=True)
class Log:
    """A session as its tool wrote it, and the same one converted: `<tool>--<name>`, with a view behind it or without."""

    tool: str
    name: str
    path: Path

    def raw(self) -> bytes:
        """The file's bytes; counts as used."""
        used.add(f"{self.tool}/{self.name}")
        return self.path.read_bytes()

    def twins(self) -> list[Recording]:
        """The recordings made of it, by name."""
        whole = f"{self.tool}--{self.name}"
        return [one for one in recordings() if one.name == whole or one.name.startswith(f"{whole}__")]


def logs() -> list[Log]:
    """Every log by tool and name; empty when the folder is absent. Use with `@needs_recordings`."""
    root = data_dir()
    found = sorted((root / "logs").glob("*/*.json*")) if root else []
    return [Log(path.parent.name, path.stem, path) for path in found]


def cases(prefix: str = "") -> list[Recording]:
    """Small inputs rebuilt from public bug reports whose name starts with `prefix`."""
    return _listed("cases", prefix)


def needs_recordings(reason: str = "") -> pytest.MarkDecorator:
    """Marks a test that plays recordings: skipped with a clear message when the folder is absent."""
    why = "no recordings: ../shared/data/dev is absent" + (f" ({reason})" if reason else "")
    return pytest.mark.skipif(data_dir() is None, reason=why)


def _listed(folder: str, prefix: str) -> list[Recording]:
    root = data_dir()
    if root is None:
        return []
    return [Recording(path.stem, path) for path in sorted((root / folder).glob(f"{prefix}*.json"))]


def _repository() -> Path:
    told = subprocess.run(
        ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"],  # noqa: S607
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Path(told.stdout.strip()).parent if told.returncode == 0 else CHECKOUT
