"""Presets are data: complete, checked, and the numbers they promise."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from precompact_shared.engine.preset import Boundary, Holding, load_preset, parse_preset, preset_names
from precompact_shared.errors import Configuration


def source(name: str) -> str:
    """The TOML text of a shipped preset."""
    return files("precompact_shared").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")


def test_both_presets_ship_and_are_parsed_once() -> None:
    """Reading costs nothing on a hot path."""
    assert {"pi", "precompact"} <= set(preset_names())
    assert load_preset("pi") is load_preset("pi")


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    """The message tells what to write instead."""
    with pytest.raises(Configuration, match="pi, precompact"):
        load_preset("precompcat")


def test_all_presets_have_the_same_keys_in_the_same_order() -> None:
    """Two files side by side show how two systems differ."""
    shapes = [_keys(tomllib.loads(source(name))) for name in preset_names()]
    assert all(shape == shapes[0] for shape in shapes)


def _keys(table: dict[str, object]) -> list[tuple[str, object]]:
    return [(key, _keys(value) if isinstance(value, dict) else None) for key, value in table.items()]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("keep_tokens = 20_000", "keep_token = 20_000", "keep_token"),
        ("keep_tokens = 20_000", 'keep_tokens = "many"', "preset.cut.keep_tokens"),
        ("keep_tokens = 20_000", "keep_tokens = true", "preset.cut.keep_tokens"),
        ('boundary = "turn"', 'boundary = "turns"', "any"),
        ('holds = ["files"]', 'holds = ["filez"]', "requests"),
    ],
)
def test_a_mistake_in_a_preset_is_named(old: str, new: str, complaint: str) -> None:
    """Unknown, missing or mistyped keys never pass in silence."""
    with pytest.raises(Configuration, match=complaint):
        parse_preset(source("precompact").replace(old, new))


@pytest.mark.parametrize(
    ("window", "max_output", "hard", "limit", "least"),
    [
        # 200,000 - 8,000 - 2 % = 188,000; 90 % of that
        (200_000, 8_000, 188_000, 169_200, 64_000),
        # 1,000,000 - 64,000 - 2 %
        (1_000_000, 64_000, 916_000, 824_400, 64_000),
        # under 128,000 the minimum is half the limit
        (100_000, 8_000, 90_000, 81_000, 40_500),
        (128_000, 8_000, 117_440, 105_696, 64_000),
        (127_999, 8_000, 117_439, 105_695, 52_847),
    ],
)
def test_our_limits(window: int, max_output: int, hard: int, limit: int, least: int) -> None:
    """Hard leaves room for output and margin, the limit is 90 % of it, the start lies at 65 to 85 % of that."""
    limits = load_preset("precompact").limits(window=window, max_output=max_output)
    assert (limits.hard, limits.limit, limits.min_tokens) == (hard, limit, least)
    assert (limits.start_low, limits.start_high) == (int(limit * 0.65), int(limit * 0.85))
    assert limits.keep_tokens == min(20_000, int(limit * 0.25))
    assert limits.reached(limit)
    assert not limits.reached(limit - 1)


def test_pi_compacts_above_the_window_less_its_reserve_and_starts_nothing_before() -> None:
    """Strictly above: pi's own comparison."""
    limits = load_preset("pi").limits(window=200_000, max_output=8_000)
    assert limits.limit == limits.start_low == limits.start_high == 200_000 - 16_384
    assert not limits.reached(limits.limit)
    assert limits.reached(limits.limit + 1)
    assert limits.keep_tokens == 20_000
    assert load_preset("pi").cut.boundary is Boundary.ANY


def test_a_limit_never_lies_above_what_the_window_holds() -> None:
    """Pi's reserve alone would promise more input than a large output leaves."""
    limits = load_preset("pi").limits(window=200_000, max_output=64_000)
    assert limits.limit == limits.hard == 132_000


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("window", [0, 8_000, 16_000])
def test_a_window_without_room_is_refused_with_what_to_do(name: str, window: int) -> None:
    """Never "never triggers" in silence."""
    with pytest.raises(Configuration, match="real window"):
        load_preset(name).limits(window=window, max_output=16_000)


@pytest.mark.parametrize(
    ("window", "growth"),
    [
        # max(2 x 20,000, 30,000, 20 % of 169,200) = 40,000, below 25 % of 188,000
        (200_000, 40_000),
        # 20 % of the limit counts
        (1_000_000, int(0.2 * int(0.9 * 972_000))),
        # 25 % of hard is the ceiling
        (64_000, int(0.25 * (64_000 - 8_000 - 1_280))),
    ],
)
def test_the_growth_a_candidate_survives(window: int, growth: int) -> None:
    """The soft gate of the design, term by term."""
    assert load_preset("precompact").limits(window=window, max_output=8_000).growth_max == growth


def test_the_saving_a_compaction_has_to_bring() -> None:
    """1,024 tokens, or a tenth of a larger context; pi asks for nothing."""
    ours = load_preset("precompact")
    assert [ours.saving_min(size) for size in (0, 10_000, 100_000)] == [1_024, 1_024, 10_000]
    assert load_preset("pi").saving_min(100_000) == 0


@pytest.mark.parametrize("name", preset_names())
def test_every_fact_that_code_carries_has_one_section(name: str) -> None:
    """Nothing that was gathered is lost between two headings, nothing stands twice."""
    sections = load_preset(name).summary.sections
    held = [holding for section in sections for holding in section.holds]
    assert sorted(held) == sorted(Holding)
    assert sum(section.share for section in sections) == pytest.approx(1.0)
    assert len({section.heading for section in sections}) == len(sections)
