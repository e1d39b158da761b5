"""A1, A16, A18, A19: shapes of the request, its messages, blocks and tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from precompact_standin.anthropic import fields
from precompact_standin.anthropic.request import Request, blocks_of
from precompact_standin.refusal import Refusal, broken
from precompact_standin.shapes import Shape

MAX_MESSAGES = 100_000
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_DOCUMENTS = {"base64": "application/pdf", "text": "text/plain"}
_SOURCES = {"image": {"base64", "url", "file"}, "document": {"base64", "text", "url", "file", "content"}}


def number_of_messages(request: Request) -> Iterator[Refusal]:
    """A1: 1 to 100,000 messages."""
    messages = request.body["messages"]
    if not isinstance(messages, list) or not messages:
        yield broken("A1", "messages: at least one message is required")
    elif len(messages) > MAX_MESSAGES:
        yield broken("A1", f"messages: at most {MAX_MESSAGES} messages are allowed")


def roles(request: Request) -> Iterator[Refusal]:
    """A16: user, assistant, system and nothing else."""
    for index, message in enumerate(request.messages):
        role = _named(message, "role")
        if role not in fields.MESSAGES:
            yield broken(
                "A16", f'messages.{index}.role: Unexpected role. Allowed: "user", "assistant", "system"'
            )


def request_objects(request: Request) -> Iterator[Refusal]:
    """A19: small objects of the request."""
    body = request.body
    small = (
        ("compaction", fields.COMPACTION),
        ("context_management", fields.CONTEXT_MANAGEMENT),
        ("output_config", fields.OUTPUT_CONFIG),
        ("metadata", fields.METADATA),
        ("cache_control", fields.CACHE_CONTROL),
    )
    for name, shape in small:
        if body.get(name) is not None:
            yield from _checked(shape, body[name], name)
    thinking = body.get("thinking")
    if thinking is not None:
        yield from _by_type(fields.THINKING, thinking, "thinking")
    if request.body.get("tool_choice") is not None and _kind(request.body["tool_choice"]) is None:
        yield broken("A19", "tool_choice.type: Field required")


def edits(request: Request) -> Iterator[Refusal]:
    """A19: the edits of `context_management` and their amounts."""
    for at, edit in enumerate(request.edits):
        where = f"context_management.edits.{at}"
        yield from _by_type(fields.EDITS, edit, where)
        for name in ("trigger", "keep", "clear_at_least"):
            if edit.get(name) is not None and edit[name] != "all":
                yield from _checked(fields.AMOUNT, edit[name], f"{where}.{name}")


def request_lists(request: Request) -> Iterator[Refusal]:
    """A19: `system` is a string or text blocks, `tools` are objects, `stop_sequences` texts."""
    system, tools = request.body.get("system", ""), request.body.get("tools", [])
    blocks = system if isinstance(system, list) else []
    if not isinstance(system, (str, list)) or any(_kind(block) != "text" for block in blocks):
        yield broken("A19", "system: Input should be a valid string or a list of text blocks")
    if not all(isinstance(stop, str) for stop in request.body.get("stop_sequences") or []):
        yield broken("A19", "stop_sequences: Input should be a valid list of strings")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        yield broken("A19", "tools: Input should be a valid list of tools")


def message_fields(request: Request) -> Iterator[Refusal]:
    """A19: no fields beside role and content."""
    for index, message in enumerate(request.messages):
        yield from _checked(fields.MESSAGES[message["role"]], message, f"messages.{index}")
        content = message.get("content")
        if not isinstance(content, (str, list)):
            yield broken("A19", f"messages.{index}.content: Input should be a valid string or list")


def block_kinds(request: Request) -> Iterator[Refusal]:
    """A19: blocks the API knows, in messages of a role that may hold them."""
    for index, message in enumerate(request.messages):
        for at, block in enumerate(blocks_of(message["content"])):
            kind = _kind(block)
            if kind not in fields.ROLE_BLOCKS[message["role"]]:
                yield broken(
                    "A19",
                    f"messages.{index}.content.{at}: Input tag {kind!r} found using 'type' does not match any of "
                    "the expected tags",
                )


def block_fields(request: Request) -> Iterator[Refusal]:
    """A19: no unknown or null fields on blocks, those of tool results included."""
    for path, block in request.blocks():
        yield from _checked(fields.BLOCKS[block["type"]], block, path)
        if block.get("cache_control") is not None:
            yield from _checked(fields.CACHE_CONTROL, block["cache_control"], f"{path}.cache_control")
        if block["type"] in {"tool_result", "compaction"} and not _is_content(block):
            yield broken("A19", f"{path}.content: Input should be a valid string or list")
    for at, block in enumerate(request.body.get("system") or []):
        if isinstance(block, dict):
            yield from _checked(fields.BLOCKS["text"], block, f"system.{at}")


def sources(request: Request) -> Iterator[Refusal]:
    """A18: where images and documents may come from."""
    for path, block in _all_blocks(request):
        kind = _kind(block)
        if kind not in _SOURCES:
            continue
        source = block.get("source")
        origin, media = _kind(source), _named(source, "media_type")
        if origin not in _SOURCES[kind]:
            yield broken("A18", f"{path}.source.type: {origin!r} is not allowed")
        elif (kind == "image" and origin == "base64" and media not in _IMAGES) or (
            kind == "document" and media != _DOCUMENTS.get(str(origin), media)
        ):
            yield broken("A18", f"{path}.source.media_type: {media!r} is not allowed")


def result_parts(request: Request) -> Iterator[Refusal]:
    """A18, A19: what a tool result may hold."""
    for path, block in request.blocks():
        if block["type"] != "tool_result" or not isinstance(block.get("content"), list):
            continue
        for at, part in enumerate(block["content"]):
            where = f"{path}.content.{at}"
            if _kind(part) not in fields.RESULT_PARTS:
                yield broken("A18", f"{where}: Input tag is none of those a tool result may hold")
            else:
                yield from _checked(fields.BLOCKS[part["type"]], part, where)


def tool_definitions(request: Request) -> Iterator[Refusal]:
    """A19: fields of the caller's own tools; names are unique."""
    names: set[str] = set()
    for at, tool in enumerate(request.body.get("tools") or []):
        if tool.get("type") in {None, "custom"}:
            yield from _checked(fields.TOOL, tool, f"tools.{at}")
        name = tool.get("name", "")
        if name and name in names:
            yield broken("A19", f"tools: Tool names must be unique ({at})")
        names.add(name)


def _all_blocks(request: Request) -> Iterator[tuple[str, Any]]:
    for path, block in request.blocks():
        yield path, block
        if block["type"] == "tool_result" and isinstance(block.get("content"), list):
            yield from ((f"{path}.content.{at}", part) for at, part in enumerate(block["content"]))


def _checked(shape: Shape, value: Any, path: str) -> Iterator[Refusal]:
    if not isinstance(value, dict):
        yield broken("A19", f"{path}: Input should be a valid dictionary")
    elif (refusal := shape.faults(value, path, "A19")) is not None:
        yield refusal


def _by_type(shapes: dict[str, Shape], value: Any, path: str) -> Iterator[Refusal]:
    kind = _kind(value)
    if kind not in shapes:
        yield broken("A19", f"{path}: Input tag {kind!r} does not match any of the expected tags")
    else:
        yield from _checked(shapes[kind], value, path)


def _is_content(block: dict[str, Any]) -> bool:
    """Text, or for results a list; absent or null is no matter of form."""
    content = block.get("content")
    return content is None or isinstance(content, str if block["type"] == "compaction" else (str, list))


def _kind(value: Any) -> str | None:
    return _named(value, "type")


def _named(value: Any, field: str) -> str | None:
    """What a field of an object says, if that is a text."""
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
