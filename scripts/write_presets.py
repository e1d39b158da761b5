"""Writes the table of all presets into the page about the default one; a test holds it equal to what is committed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from precompact_shared.engine.preset import DEFAULT_PRESET, preset_names

ROOT = Path(__file__).resolve().parents[1]
PRESET_PAGE = ROOT / "docs" / "concepts" / "default-preset.md"
BEGIN, END = "<!-- presets: written by make docs -->\n", "<!-- end -->\n"
NAMES = (DEFAULT_PRESET, *(name for name in preset_names() if name != DEFAULT_PRESET))
_WORDS = frozenset({"opening", "closing", "preface", "instructions", "split_heading", "asks", "about"})
"""Texts, which are compared in the files."""


def read_table(name: str) -> dict[str, Any]:
    """A shipped preset as TOML says it."""
    source = files("precompact_shared").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(source)


def preset_page(page: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n".join(("", *_table(), "", "")) + END + rest.partition(END)[2]


def _table() -> Iterator[str]:
    tables = [read_table(name) for name in NAMES]
    yield "| key | " + " | ".join(NAMES) + " |"
    yield "| --- " * (len(NAMES) + 1) + "|"
    for part, keys in tables[0].items():
        if not isinstance(keys, dict):
            continue
        for key in keys:
            told = [_told(table[part][key]) for table in tables]
            if key not in _WORDS and set(told) != {"–"}:
                yield f"| {part}.{key} | " + " | ".join(told) + " |"


def _told(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "–"
        case int() if value:
            return f"{value:,}"
        case float() if value:
            return f"{value:g}"
        case str() if value:
            return value if " " not in value else "a sentence"
        case {"unit": unit, "head": head, "tail": tail, "over": over} if head or tail or over:
            return f"{head:,} + {tail:,} {unit}" + (f" over {over:,}" if over else "")
        case [str(), *_]:
            return ", ".join(value)
        case [{"heading": str()}, *_]:
            return f"{len(value)} headings"
        case [{"kind": str()}, *_]:
            return "; ".join(f"{one['kind']}: {_told(one['ends'])}" for one in value)
    return "–"


if __name__ == "__main__":
    PRESET_PAGE.write_text(preset_page(PRESET_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
