"""Long text keeps its two ends, cut where a reader sees a border."""

from __future__ import annotations

import re
import time

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.shorten import (
    Ends,
    Unit,
    border_at_or_after,
    border_at_or_before,
    is_shortened,
    shorten,
    size_in,
)

FAMILY = "👩‍👩‍👧‍👦"
FLAG = "🇩🇪"
GERMAN = "Gro\u0308ße"
NOTE = re.compile(
    r"(?:\n(?=\[… [\d,]+ [cb]))?\[… ([\d,]+) (?:characters|bytes|lines) left out; \[r:57\] has the whole text …\]\n"
)

pieces = st.sampled_from(
    ("a", "word ", "\n", "不要修改", "🙂", FAMILY, FLAG, GERMAN, "\r\n", "각", "\ud83d", "हिन्दी", "1,234")
)
texts = st.lists(pieces, max_size=120).map("".join)
ends = st.builds(Ends, st.sampled_from(Unit), st.integers(0, 30), st.integers(0, 30), st.integers(0, 80))


def clusters(text: str) -> list[str]:
    """What a reader takes for single characters."""
    return list(regex.findall(r"\X", text))


@given(texts, ends)
def test_what_stays_is_as_it_was_and_no_cluster_is_cut(text: str, wanted: Ends) -> None:
    """Head and tail are whole clusters of the text, no more than asked for, and the note tells what lies between."""
    short = shorten(text, wanted, address="[r:57]")
    if short == text:
        return
    note = list(NOTE.finditer(short))[-1]
    head, tail = short[: note.start()], short[note.end() :]
    assert size_in(wanted.unit, text) > wanted.limit
    assert text.startswith(head)
    assert text.endswith(tail)
    whole = clusters(text)
    assert clusters(head) == whole[: len(clusters(head))]
    assert clusters(tail) == whole[len(whole) - len(clusters(tail)) :]
    missing = text[len(head) : len(text) - len(tail)]
    assert int(note.group(1).replace(",", "")) == size_in(wanted.unit, missing)
    if wanted.unit is not Unit.LINES:
        assert size_in(wanted.unit, head) <= wanted.head
        assert size_in(wanted.unit, tail) <= wanted.tail


@given(texts, ends)
def test_shortening_wins_or_changes_nothing(text: str, wanted: Ends) -> None:
    """Never longer in bytes; the same input gives the same output."""
    short = shorten(text, wanted, address="[r:57]")
    assert short == shorten(text, wanted, address="[r:57]")
    size, before = size_in(Unit.BYTES, short), size_in(Unit.BYTES, text)
    assert short == text or size < before
    assert is_shortened(short) or short == text


@given(texts, st.integers(0, 400))
def test_borders_lie_between_clusters_on_the_right_side(text: str, position: int) -> None:
    """The nearest place on either side, and the place itself where it is one."""
    position = min(position, len(text))
    borders = [0]
    for cluster in clusters(text):
        borders.append(borders[-1] + len(cluster))
    assert border_at_or_before(text, position) == max(place for place in borders if place <= position)
    assert border_at_or_after(text, position) == min(place for place in borders if place >= position)


@pytest.mark.parametrize(
    ("text", "unit", "size"),
    [
        ("", Unit.LINES, 0),
        ("a", Unit.LINES, 1),
        ("a\n", Unit.LINES, 1),
        ("a\nb", Unit.LINES, 2),
        ("\n\n", Unit.LINES, 2),
        ("ä🙂", Unit.BYTES, 6),
        ("ä🙂", Unit.CHARACTERS, 2),
        ("\ud83d", Unit.BYTES, 3),
    ],
)
def test_sizes_are_what_they_say(text: str, unit: Unit, size: int) -> None:
    """Bytes of UTF-8, code points, lines as an editor numbers them."""
    assert size_in(unit, text) == size


def test_lines_keep_their_first_and_last() -> None:
    """The note is a line of its own between them."""
    text = "\n".join(str(number) for number in range(100))
    short = "0\n1\n[… 95 lines left out …]\n97\n98\n99"
    assert shorten(text, Ends(Unit.LINES, 2, 3)) == short
    assert shorten(text + "\n", Ends(Unit.LINES, 2, 3)) == short + "\n"
    assert shorten(text, Ends(Unit.LINES, 0, 1)) == "[… 99 lines left out …]\n99"


def test_text_up_to_the_limit_stays_whole() -> None:
    """The limit may lie above what the ends have together."""
    text = "x" * 2_048
    ends_of = Ends(Unit.BYTES, 512, 512, over=2_048)
    assert shorten(text, ends_of) is text
    assert shorten(text + "x", ends_of).count("x") == 1_024


def test_nothing_is_cut_where_nothing_would_be_won() -> None:
    """The note itself has a length."""
    text = "x" * 30
    assert shorten(text, Ends(Unit.CHARACTERS, 10, 10)) is text


def test_the_note_names_size_and_address() -> None:
    """What is missing, and where recall reads it."""
    short = shorten("x" * 5_000, Ends(Unit.CHARACTERS, 1_000, 0), address="[r:57]")
    assert short.endswith("\n[… 4,000 characters left out; [r:57] has the whole text …]\n")
    assert is_shortened(short)
    assert not is_shortened("[… and so on …]")


@pytest.mark.parametrize(
    "text", ["x" * 5_000_000, "e" + "\u0301" * 1_000_000, FAMILY * 200_000, "\n" * 2_000_000]
)
def test_any_text_of_megabytes_is_cut_in_a_moment(text: str) -> None:
    """One cluster of a million code points, or no plain letter anywhere: linear all the same."""
    begun = time.process_time()
    for unit in Unit:
        shorten(text, Ends(unit, 1_000, 1_000), address="[r:1]")
    assert time.process_time() - begun < 10
