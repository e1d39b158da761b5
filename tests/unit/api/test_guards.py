"""Guards on what comes in: cheap, before anything is parsed."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_api.guards import check_depth, parse, session_id
from precompact_api.problems import Code, Problem

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('[]{}"\\ab', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\k', max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)


def depth_of(value: object) -> int:
    """Levels of nesting, counted on the parsed value."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@given(values, st.integers(1, 6))
def test_depth_is_judged_by_brackets_outside_of_text(value: object, limit: int) -> None:
    """The same verdict as on the parsed value, however the text is escaped."""
    for body in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        if depth_of(value) > limit:
            with pytest.raises(Problem) as caught:
                check_depth(body.encode(), limit)
            assert caught.value.code is Code.TOO_DEEP
        else:
            check_depth(body.encode(), limit)


@pytest.mark.parametrize("body", [b"[" * 10**6, b"]" * 10**6, b'{"a":' * 10**6, b'"' * 10**6, b"[}" * 10**6])
def test_hostile_bytes_end_in_a_problem_soon(body: bytes) -> None:
    """Whatever the parser or the guard says first."""
    with pytest.raises(Problem):
        parse(msgspec.json.Decoder(), body, nesting_limit=64)


def test_the_place_of_an_error_names_fields_of_ours_alone() -> None:
    """Never the value."""

    class Body(msgspec.Struct):
        seen: dict[str, int]

    with pytest.raises(Problem) as caught:
        parse(msgspec.json.Decoder(Body), b'{"seen":{"secret":"secret"}}', nesting_limit=64)
    assert caught.value.facts == {"where": "$.seen[...]"}


@pytest.mark.parametrize("name", ["a", "a" * 200, "user@host:1._-", "0"])
def test_session_ids_that_are_fine(name: str) -> None:
    """The caller's own names."""
    assert session_id(name) == name


@pytest.mark.parametrize("name", ["", ".a", "a" * 201, "a/b", "a\n", "ä", "a b"])
def test_session_ids_that_are_none(name: str) -> None:
    """Nothing that could be mistaken in a key or a path."""
    with pytest.raises(Problem):
        session_id(name)
