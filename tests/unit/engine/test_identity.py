"""Two ways to send the same entry are one entry; two entries are never one."""

from __future__ import annotations

import copy
import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.identity import _encode, _write, _write_deep, canonical, digest
from precompact_shared.engine.types import Format, Message
from tests.support.histories import any_history

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None, categories=None), max_size=8),
)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)
formats = st.sampled_from(Format)


def one_part(wire: Format, role: str, text: str) -> Message:
    """A message whose content is one text part."""
    kind = "text"
    if wire is Format.OPENAI_RESPONSES:
        kind = "output_text" if role == "assistant" else "input_text"
    return {"role": role, "content": [{"type": kind, "text": text}]}


@given(formats, json_values)
def test_every_json_value_has_a_canonical_form(wire: Format, value: Any) -> None:
    """Lone surrogates, big numbers and NaN too; what is a message of no format keeps all its values apart."""
    written = canonical(wire, value)
    assert written == canonical(wire, copy.deepcopy(value))
    assert canonical(wire, [value, 0]) != canonical(wire, [value, 1])


@given(json_values)
def test_the_fast_way_to_write_gives_the_bytes_of_the_slow_one(value: Any) -> None:
    """Control characters, floats, surrogates and numbers beyond 64 bits too: a digest must not depend on the way."""
    assert _write(value) == _encode(value).encode("utf-8", "surrogatepass")


@given(formats, st.dictionaries(st.text(max_size=6), json_values, max_size=5))
def test_the_order_of_keys_does_not_matter(wire: Format, message: Message) -> None:
    """JSON objects have no order."""
    turned = dict(reversed(message.items()))
    assert canonical(wire, turned) == canonical(wire, message)


@given(any_history(), st.data())
def test_nulls_and_cache_marks_do_not_matter(
    drawn: tuple[Format, list[Message]], data: st.DataObject
) -> None:
    """On the message and on each part."""
    wire, messages = drawn
    for message in messages:
        marked = {
            **message,
            "name": message.get("name"),
            "note": None,
            "cache_control": {"type": "ephemeral"},
        }
        if isinstance(message.get("content"), list):
            mark: Message = data.draw(
                st.sampled_from([{"cache_control": {"type": "ephemeral"}}, {"citations": None}])
            )
            marked["content"] = [{**part, **mark} for part in message["content"]]
        assert canonical(wire, marked) == canonical(wire, message)


@given(formats, st.sampled_from(["user", "assistant"]), st.text())
def test_string_content_is_one_text_part(wire: Format, role: str, text: str) -> None:
    """Both shapes are one entry."""
    assert canonical(wire, {"role": role, "content": text}) == canonical(wire, one_part(wire, role, text))


def test_the_content_of_a_result_too() -> None:
    """A string and one text part."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
    parts = {**result, "content": [{"type": "text", "text": "ok"}]}
    assert canonical(Format.ANTHROPIC, {"role": "user", "content": [result]}) == canonical(
        Format.ANTHROPIC, {"role": "user", "content": [parts]}
    )
    output = {"type": "function_call_output", "call_id": "a", "output": "ok"}
    listed = {**output, "output": [{"type": "input_text", "text": "ok"}]}
    assert canonical(Format.OPENAI_RESPONSES, output) == canonical(Format.OPENAI_RESPONSES, listed)


def test_status_and_item_ids_of_responses_do_not_matter_but_call_ids_do() -> None:
    """The SDK adds and drops them."""
    call = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
    noisy = {**call, "id": "fc_1", "status": "completed"}
    other = {**call, "call_id": "c2"}
    wire = Format.OPENAI_RESPONSES
    assert canonical(wire, noisy) == canonical(wire, call)
    assert canonical(wire, other) != canonical(wire, call)
    short = {"role": "user", "content": "x"}
    assert canonical(wire, {**short, "type": "message", "id": "msg_1"}) == canonical(wire, short)


@pytest.mark.parametrize(
    "kind", ["item_reference", "image_generation_call", "mcp_approval_request", "hologram"]
)
def test_an_id_that_is_the_content_counts(kind: str) -> None:
    """References to two items are two entries."""
    wire = Format.OPENAI_RESPONSES
    assert canonical(wire, {"type": kind, "id": "a"}) != canonical(wire, {"type": kind, "id": "b"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"content": ""}, {}),
        ({"content": []}, {"content": ""}),
        ({"content": "x"}, {"content": "x "}),
        ({"content": [{"type": "text", "text": ""}]}, {"content": [{"type": "text"}]}),
        ({"content": [None]}, {"content": []}),
        ({"content": "1"}, {"content": 1}),
        ({"content": "é"}, {"content": "e\u0301"}),
        ({"content": "\ud83d"}, {"content": "\ude00"}),
    ],
)
@pytest.mark.parametrize("wire", Format)
def test_different_content_stays_different(wire: Format, one: Message, other: Message) -> None:
    """Empty is not absent, and nothing is normalised that a model would read otherwise."""
    assert canonical(wire, {"role": "user", **one}) != canonical(wire, {"role": "user", **other})


def test_the_payload_of_a_call_is_taken_as_it_is() -> None:
    """A null argument, and an argument called cache_control or status, are content."""

    def called(payload: Message) -> bytes:
        use = {"type": "tool_use", "id": "t", "name": "n", "input": payload}
        return canonical(Format.ANTHROPIC, {"role": "assistant", "content": [use]})

    assert (
        len({called(p) for p in ({}, {"a": None}, {"cache_control": 1}, {"status": "x"}, {"id": "x"})}) == 5
    )
    assert called({"a": 1, "b": 2}) == called({"b": 2, "a": 1})


def places_of_text(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all strings inside a value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_of_text(inner, (*path, key))


@given(any_history(), st.data())
def test_one_more_letter_anywhere_makes_another_entry(
    drawn: tuple[Format, list[Message]], data: st.DataObject
) -> None:
    """Roles, types, texts, names, arguments, call ids, signatures: all of them count."""
    wire, messages = drawn
    message = data.draw(st.sampled_from(messages))
    path = data.draw(st.sampled_from(list(places_of_text(message))))
    changed = copy.deepcopy(message)
    owner = changed
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] += "x"
    assert canonical(wire, changed) != canonical(wire, message)


@pytest.mark.parametrize("wire", Format)
def test_depth_and_long_numbers_do_not_matter(wire: Format) -> None:
    """What the fast way cannot write, the other one writes, and it leaves out the same."""
    deep: Any = {"x": 1, "gone": None, "cache_control": {}}
    for _ in range(20_000):
        deep = [{"in": deep}]
    written = canonical(wire, {"role": "user", "content": deep})
    assert b"gone" not in written
    assert b"cache_control" not in written
    assert canonical(wire, {"n": 10**6_000}) != canonical(wire, {"n": 10**6_001})
    _take_apart(deep)


def _take_apart(value: Any) -> None:
    """Free a deep value step by step, since freeing it at once needs the depth on the C stack."""
    while isinstance(value, list):
        value = value.pop()["in"]


@given(json_values)
def test_both_writers_agree(value: Any) -> None:
    """The stack of its own changes no byte."""
    message = {"input": value, "rest": value}
    assert _write_deep(message).encode("utf-8", "surrogatepass") == canonical(Format.OPENAI_CHAT, message)


def test_the_digest_is_a_keyed_hash_of_64_digits() -> None:
    """Another key, another digest: tenants cannot compare entries."""
    entry = canonical(Format.ANTHROPIC, {"role": "user", "content": "x"})
    assert digest(entry, b"key") == hmac.new(b"key", entry, hashlib.sha256).hexdigest()
    assert len(digest(entry, b"key")) == 64
    assert digest(entry, b"key") != digest(entry, b"other")
