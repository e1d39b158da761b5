"""The page about the default preset says what the files say."""

from __future__ import annotations

import re
import tomllib

from precompact_shared.engine.preset import preset_names
from scripts.write_presets import NAMES, PRESET_PAGE, preset_page, read_table

PAGE = PRESET_PAGE.read_text(encoding="utf-8")
_VALUE = re.compile(r"`(\w+)\.(\w+) = ([^`]+)`")
LEAST_VALUES = 30


def test_the_table_of_presets_is_up_to_date() -> None:
    """`make docs` writes it; every preset is a column, every key that any of them uses a row."""
    assert preset_page(PAGE) == PAGE
    assert set(NAMES) == set(preset_names())
    assert "| cut.keep_tokens | 20,000 | – | 20,000 |" in PAGE


def test_every_value_the_page_justifies_is_the_shipped_one() -> None:
    """As TOML would read it, by table and key."""
    shipped = read_table("precompact")
    told = _VALUE.findall(PAGE)
    assert len(told) >= LEAST_VALUES
    for table, key, value in told:
        assert tomllib.loads(f"it = {value}")["it"] == shipped[table][key], (table, key)


def test_every_number_of_the_default_preset_is_justified() -> None:
    """What a system lacks needs no word; all that ours has does."""
    justified = {(table, key) for table, key, _ in _VALUE.findall(PAGE)}
    numbers = {
        (table, key)
        for table, keys in read_table("precompact").items()
        if isinstance(keys, dict)
        for key, value in keys.items()
        if value and isinstance(value, int | float) and not isinstance(value, bool)
    }
    assert numbers - justified == set()
