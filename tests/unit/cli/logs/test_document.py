"""Long documents, read item by item whatever the chunks; shelves that move to a file."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompact_cli.logs import document
from precompact_cli.logs.document import Found, read_document
from precompact_cli.logs.events import Damaged
from precompact_cli.logs.shelf import Cellar, Shelf, Stretch, is_held

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=6,
)


def parts(raw: bytes) -> list[tuple[str, Any, bool] | Damaged]:
    """What is found."""
    found = read_document(io.BytesIO(raw), "messages")
    return [(one.key, one.value, one.is_item) if isinstance(one, Found) else one for one in found]


@settings(max_examples=80)
@given(
    items=st.lists(ANY, max_size=5),
    before=ANY,
    after=ANY,
    indent=st.sampled_from([None, 1]),
    chunk=st.integers(1, 40),
)
def test_a_document_is_read_the_same_in_any_chunks(
    items: list[Any], before: Any, after: Any, indent: int | None, chunk: int
) -> None:
    """Strings with brackets, escapes at a chunk's end, text of several bytes."""
    raw = json.dumps({"a": before, "messages": items, "z": after}, indent=indent, ensure_ascii=False).encode(
        errors="surrogatepass"
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(document, "CHUNK_BYTES", chunk)
        found = parts(raw)
    try:
        raw.decode()
    except UnicodeDecodeError:
        return
    assert found == [("a", before, False), *(("messages", one, True) for one in items), ("z", after, False)]


def test_damage_is_told_with_its_line_and_the_rest_is_read() -> None:
    """A broken element costs itself, a broken end what follows."""
    raw = b'{"messages": [\n1,\n{"a": tru},\n{"b": 2}], "z": "cut'
    assert parts(raw) == [
        ("messages", 1, True),
        Damaged(3, "no JSON"),
        ("messages", {"b": 2}, True),
        Damaged(4, "the file ends in the middle"),
    ]


@pytest.mark.parametrize("raw", [b"", b"[1]", b"{1:2}", b'{"a" 1}', b'{"messages": [}', b"\x00\xff{"])
def test_what_is_no_document_ends_in_damage(raw: bytes) -> None:
    """Never in an error, never without end."""
    assert isinstance(parts(raw)[-1], Damaged)


@settings(max_examples=60)
@given(
    messages=st.lists(st.dictionaries(st.text(), st.text() | st.integers())),
    held=st.sampled_from([0, 60, 10_000]),
)
def test_a_shelf_is_a_list_wherever_it_keeps_its_messages(messages: list[dict[str, Any]], held: int) -> None:
    """Places, slices, iteration, and what was cut off."""
    shelf = Shelf(Cellar(held))
    for message in messages:
        shelf.append(message)
    assert list(shelf) == messages
    assert len(shelf) == len(messages)
    assert shelf[1:-1] == messages[1:-1]
    assert [shelf[place] for place in range(-len(messages), len(messages))] == messages * 2
    shelf.cut(1)
    shelf.append({"new": 1})
    assert list(shelf) == [*messages[:1], {"new": 1}]
    with pytest.raises(IndexError):
        shelf[len(shelf)]


@settings(max_examples=60)
@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=3), held=st.sampled_from([0, 60, 10_000]))
def test_stretches_of_several_shelves_are_a_list(sizes: list[int], held: int) -> None:
    """All of them share their memory and their file."""
    cellar, whole, parts = Cellar(held), list[dict[str, int]](), list[tuple[Shelf, int, int]]()
    for number, size in enumerate(sizes):
        shelf = Shelf(cellar)
        for place in range(size + 2):
            shelf.append({"shelf": number, "place": place})
        whole += list(shelf)[1 : size + 1]
        parts.append((shelf, 1, size + 1))
    stretch = Stretch(*parts)
    assert list(stretch) == [stretch[place] for place in range(len(stretch))] == stretch[:] == whole
    assert stretch[1:-1] == whole[1:-1]
    assert is_held(stretch) or held <= 60
    assert not (is_held(stretch) and held == 0)
    with pytest.raises(IndexError):
        stretch[len(stretch)]


@pytest.mark.parametrize("message", [{"a": "\ud83d"}, {"a": 10**40}, {"a": 1.5, "b": [None, True, "é\0"]}])
def test_a_shelf_gives_back_whatever_json_can_hold(message: dict[str, Any]) -> None:
    """Halves of characters and large numbers too."""
    shelf = Shelf(Cellar(0))
    shelf.append(message)
    assert shelf[0] == message


@settings(max_examples=60)
@given(items=st.lists(ANY, max_size=5), after=ANY, chunk=st.integers(1, 40), near=st.integers(0, 30))
def test_large_values_are_measured_before_they_are_read(
    items: list[Any], after: Any, chunk: int, near: int
) -> None:
    """And are the same then, whatever the chunks."""
    raw = json.dumps({"messages": [items, *items], "z": [after], "y": 1}, indent=1).encode()
    whole = parts(raw)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(document, "CHUNK_BYTES", chunk)
        patched.setattr(document, "_NEAR_BYTES", near)
        assert parts(raw) == whole
        assert isinstance(parts(raw[:-1])[-1], Damaged)
