"""O0 (unknown, missing and null fields), O10, O12: the shapes of items and parts."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any

from precompact_standin.openai import fields
from precompact_standin.openai.request import Request, kind_of
from precompact_standin.refusal import Refusal, broken
from precompact_standin.shapes import Shape

MAX_CALL_ID_CHARS = 64
MAX_OUTPUT_CHARS = 10_485_760


def request_objects(request: Request) -> Iterator[Refusal]:
    """Small objects of the request."""
    small = (
        ("reasoning", fields.REASONING),
        ("text", fields.TEXT),
        ("prompt_cache_options", fields.CACHE_OPTIONS),
    )
    for name, shape in small:
        if request.body.get(name) is not None:
            yield from _checked(shape, request.body[name], name)
    yield from _objects(request, "tools")
    yield from _objects(request, "context_management")
    for at, tool in enumerate(request.body.get("tools") or []):
        if tool.get("type") == "function":
            yield from _checked(fields.FUNCTION_TOOL, tool, f"tools[{at}]")


def item_fields(request: Request) -> Iterator[Refusal]:
    """Items of known type, with the fields of that type."""
    if not isinstance(request.body.get("input"), (str, list, NoneType)):
        yield broken("O0", "Invalid type for 'input': expected a string or a list.", param="input")
    for at, item in enumerate(request.items):
        where = f"input[{at}]"
        if not isinstance(item, dict):
            yield broken("O0", f"Invalid type for '{where}': expected an object", param=where)
            continue
        shape = fields.ITEMS.get(kind_of(item))
        if shape is None:
            yield broken("O0", f"Invalid value: '{item.get('type')}'.", param=where, code="invalid_value")
        else:
            yield from _checked(shape, item, where)


def parts(request: Request) -> Iterator[Refusal]:
    """O12: parts of a user's and of an assistant's message are never swapped."""
    for at, item in enumerate(request.items):
        if kind_of(item) != "message":
            continue
        where = f"input[{at}].content"
        allowed = fields.ASSISTANT_PARTS if item["role"] == "assistant" else fields.USER_PARTS
        if item["role"] not in {"user", "assistant", "system", "developer"}:
            yield broken("O12", f"Invalid value: '{item['role']}'.", param=f"input[{at}].role")
        if not isinstance(item["content"], (str, list)):
            yield broken("O12", f"Invalid type for '{where}'", param=where, code="invalid_type")
            continue
        for part in item["content"] if isinstance(item["content"], list) else []:
            yield from _part(part, allowed, where)


def calls(request: Request) -> Iterator[Refusal]:
    """O10: limits of call ids and outputs; arguments are a JSON string."""
    for at, item in enumerate(request.items):
        where = f"input[{at}]"
        call_id = item.get("call_id")
        if call_id is not None and not 1 <= len(str(call_id)) <= MAX_CALL_ID_CHARS:
            text = f"Invalid '{where}.call_id': expected a string of 1 to {MAX_CALL_ID_CHARS} characters."
            yield broken("O10", text, param=f"{where}.call_id", code="string_above_max_length")
        if kind_of(item) == "function_call" and not isinstance(item["arguments"], str):
            text = f"Invalid type for '{where}.arguments': expected a string."
            yield broken("O10", text, param=f"{where}.arguments", code="invalid_type")
        output = item.get("output")
        if isinstance(output, str) and len(output) > MAX_OUTPUT_CHARS:
            text = f"Invalid '{where}.output': string too long."
            yield broken("O10", text, param=f"{where}.output", code="string_above_max_length")


def _objects(request: Request, name: str) -> Iterator[Refusal]:
    for at, entry in enumerate(request.body.get(name) or []):
        if not isinstance(entry, dict):
            yield broken("O0", f"Invalid type for '{name}[{at}]': expected an object.", param=f"{name}[{at}]")


def _part(part: Any, allowed: frozenset[str], where: str) -> Iterator[Refusal]:
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    if kind not in allowed:
        text = f"Invalid value: '{kind}'. Supported values are: {', '.join(sorted(allowed))}."
        yield broken("O12", text, param=where, code="invalid_value")
    else:
        yield from _checked(fields.PARTS[kind], part, where)


def _checked(shape: Shape, value: Any, path: str) -> Iterator[Refusal]:
    if not isinstance(value, dict):
        yield broken("O0", f"Invalid type for '{path}': expected an object", param=path)
    elif (found := shape.faults(value, path, "O0")) is not None:
        yield broken(
            "O0",
            f"Unknown or invalid parameter: '{found.param}'.",
            param=found.param,
            code="unknown_parameter",
        )
