"""The stand-in's tables of fields are those of the SDKs' types, read here field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Required, Union, get_args, get_origin, get_type_hints

import pytest
import typing_extensions
from anthropic.types import message_create_params
from anthropic.types.beta import message_create_params as beta_create_params
from anthropic.types.beta.beta_content_block_param import BetaContentBlockParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.input_token_count_params import InputTokenCountParams
from openai.types.responses.response_compact_params import ResponseCompactParams
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from openai.types.responses.response_input_item_param import ResponseInputItemParam

from precompact_standin.anthropic import fields as anthropic_fields
from precompact_standin.openai import fields as openai_fields
from precompact_standin.shapes import Shape

NOT_PLAYED = frozenset({"betas", "billing_policy", "fallback_credit_token", "fallbacks", "thread"})
"""Fields of a Messages request the stand-in does not know."""
REMOVED = frozenset({"temperature", "top_p", "top_k"})
"""Fields of the old API version, which the SDK has no types for any more."""


def kinds(union: Any) -> Iterator[Any]:
    """The typed dictionaries of a union."""
    if typing_extensions.is_typeddict(union):
        yield union
    elif get_origin(union) is Union:
        for member in get_args(union):
            yield from kinds(member)


def read(kind: Any) -> tuple[set[str], set[str], set[str], list[str]]:
    """Fields, required ones, nullable ones, and the values of `type`."""
    names, required, nullable, types = set(), set(), set(), []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        names.add(name)
        inner = hint
        if get_origin(hint) in {Required, typing_extensions.Required}:
            required.add(name)
            inner = get_args(hint)[0]
        if type(None) in get_args(inner):
            nullable.add(name)
        if name == "type":
            types = [value for value in get_args(inner) if isinstance(value, str)]
    return names, required, nullable, types


def blocks(union: Any) -> list[tuple[str, Any]]:
    """Members of a union by the value of their `type`."""
    return [(name, kind) for kind in kinds(union) for name in read(kind)[3]]


@pytest.mark.parametrize(("name", "kind"), blocks(BetaContentBlockParam))
def test_blocks_have_the_fields_of_their_types(name: str, kind: Any) -> None:
    """Required ones too; `compaction` is stricter about nulls, thinking leaves its signature to A10."""
    if name in {"mcp_tool_listing", "fallback"}:
        assert name not in anthropic_fields.BLOCKS
        return
    shape = anthropic_fields.BLOCKS[name]
    names, required, nullable, _ = read(kind)
    assert shape.allowed == names
    assert set(shape.required) == required - ({"signature"} if name == "thinking" else set())
    assert shape.nullable == ({"content"} if name == "compaction" else nullable)


@pytest.mark.parametrize("kind", [message_create_params, beta_create_params])
def test_a_messages_request_has_the_fields_of_its_type(kind: Any) -> None:
    """Apart from what is not played, and the sampling of old."""
    names, required, nullable, _ = read(kind.MessageCreateParamsNonStreaming)
    assert names - NOT_PLAYED <= anthropic_fields.REQUEST.allowed
    assert set(anthropic_fields.REQUEST.required) == required
    assert nullable - NOT_PLAYED <= anthropic_fields.REQUEST.nullable
    beta = set(anthropic_fields.BETA_FIELDS)
    assert anthropic_fields.REQUEST.allowed - beta - REMOVED <= names | {"stream"}


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (openai_fields.RESPONSES, ResponseCreateParamsNonStreaming),
        (openai_fields.COMPACT, ResponseCompactParams),
        (openai_fields.INPUT_TOKENS, InputTokenCountParams),
        (openai_fields.CHAT, CompletionCreateParamsNonStreaming),
    ],
)
def test_requests_of_openai_have_the_fields_of_their_types(shape: Shape, kind: Any) -> None:
    """All of them."""
    names, _, nullable, _ = read(kind)
    assert shape.allowed == names
    assert shape.nullable - {"stream"} == nullable - {"stream"}


@pytest.mark.parametrize(
    ("name", "kind"), [row for row in blocks(ResponseInputItemParam) if row[0] != "message"]
)
def test_items_have_the_fields_of_their_types(name: str, kind: Any) -> None:
    """An item may bring back what only replies have: its status, and who made it."""
    shape = openai_fields.ITEMS[name]
    names, required, _, _ = read(kind)
    assert shape.allowed - {"status", "created_by"} == names - {"status"}
    if name not in {"function_call_output", "reasoning"}:
        assert set(shape.required) == required
