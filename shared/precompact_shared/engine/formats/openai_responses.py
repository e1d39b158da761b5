"""OpenAI Responses: a flat list of items; calls and results are items of their own, reasoning too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from precompact_shared.engine.formats.media import readable, shown_call
from precompact_shared.engine.formats.reading import (
    InvalidEntry,
    as_json,
    is_blank,
    read_object,
    read_parts,
    read_text,
)
from precompact_shared.engine.types import Call, Facts, Message, Result, Role

_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}
_TEXT = frozenset({"input_text", "output_text", "text", "refusal"})


class _CallItem(NamedTuple):
    """How an item that asks for a result is read: its kind, and the keys of id and payload."""

    kind: str
    id_key: str
    payload_key: str


_CALLS = {
    "function_call": _CallItem("function", "call_id", "arguments"),
    "custom_tool_call": _CallItem("custom", "call_id", "input"),
    "local_shell_call": _CallItem("local_shell", "call_id", "action"),
    "shell_call": _CallItem("shell", "call_id", "action"),
    "apply_patch_call": _CallItem("apply_patch", "call_id", "operation"),
    "computer_call": _CallItem("computer", "call_id", "action"),
    "tool_search_call": _CallItem("tool_search", "call_id", "arguments"),
    "program": _CallItem("program", "call_id", "code"),
    "mcp_approval_request": _CallItem("mcp_approval", "id", "arguments"),
}
_RESULTS = {
    "function_call_output": ("function", "call_id"),
    "custom_tool_call_output": ("custom", "call_id"),
    "local_shell_call_output": ("local_shell", "call_id"),
    "shell_call_output": ("shell", "call_id"),
    "apply_patch_call_output": ("apply_patch", "call_id"),
    "computer_call_output": ("computer", "call_id"),
    "tool_search_output": ("tool_search", "call_id"),
    "program_output": ("program", "call_id"),
    "mcp_approval_response": ("mcp_approval", "approval_request_id"),
}
_SERVER = {
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "revised_prompt",
    "mcp_call": "arguments",
}
"""Items that hold a call and its own output, with the key of the payload."""


def facts(item: Any) -> Facts:
    """What one item says, without its neighbours."""
    owner = read_object(item, "")
    kind = _type_of(owner)
    if kind == "message":
        return _facts_of_message(owner)
    if kind in _CALLS and not _ran_at_the_provider(owner, kind):
        return Facts(Role.ASSISTANT, calls=(_call(owner, kind),))
    if kind in _RESULTS and not _ran_at_the_provider(owner, kind):
        return Facts(Role.TOOL, results=(_result(owner, kind),))
    if kind in _SERVER or kind in _CALLS:
        return Facts(Role.ASSISTANT, calls=(_server_call(owner, kind),))
    if kind == "reasoning":
        return Facts(Role.ASSISTANT, reasoning=True)
    return Facts(Role.ASSISTANT if kind == "compaction" else Role.OTHER)


def _type_of(owner: dict[str, Any]) -> str:
    if owner.get("type") is None and "role" in owner:
        return "message"
    return read_text(owner, "type", "")


def _ran_at_the_provider(owner: dict[str, Any], kind: str) -> bool:
    """Whether a tool search ran at the provider: then it has no call id and nobody has to answer it."""
    return kind in {"tool_search_call", "tool_search_output"} and owner.get("call_id") is None


def _facts_of_message(owner: dict[str, Any]) -> Facts:
    role = _ROLES.get(read_text(owner, "role", ""))
    if role is None:
        raise InvalidEntry("unknown_role", "role")
    blank = is_blank(read_parts(owner.get("content"), "content"), _TEXT)
    return Facts(role, user_turn=role is Role.USER and not blank, blank=blank)


def _call(owner: dict[str, Any], kind: str) -> Call:
    item = _CALLS[kind]
    named = kind in {"function_call", "custom_tool_call", "mcp_approval_request"}
    name = read_text(owner, "name", "") if named else item.kind
    return Call(read_text(owner, item.id_key, ""), item.kind, name, as_json(owner.get(item.payload_key, "")))


def _result(owner: dict[str, Any], kind: str) -> Result:
    family, id_key = _RESULTS[kind]
    if kind == "local_shell_call_output" and owner.get(id_key) is None:
        id_key = "id"  # the vendor's type puts the call's id there
    return Result(read_text(owner, id_key, ""), family, None, owner.get("status") == "failed")


def _server_call(owner: dict[str, Any], kind: str) -> Call:
    payload = owner.get(_SERVER.get(kind, "arguments"))
    name, item_id = owner.get("name"), owner.get("id")
    return Call(
        item_id if isinstance(item_id, str) else "",
        "server",
        name if isinstance(name, str) else kind.removesuffix("_call"),
        "" if payload is None else as_json(payload),
    )


def plain_text(item: Message) -> str:
    """Text, call or output of one item; reasoning left out."""
    kind = item.get("type")
    if kind in _CALLS or kind in _SERVER:
        calls = [shown_call(call.name, call.arguments) for call in facts(item).calls]
        return "\n".join([*calls, *filter(None, [readable(item.get("output"))])])
    if kind in _RESULTS:
        return _output_text(item)
    return "" if kind in {"reasoning", "compaction"} else readable(item.get("content"))


def _output_text(item: Message) -> str:
    return readable(item.get("output", item.get("result", item.get("reason"))))


def text_of_user(item: Message) -> str:
    """The user's own text: text parts of a user message, media left out."""
    content = item.get("content")
    if item.get("role") != "user" or not isinstance(content, list):
        return content if item.get("role") == "user" and isinstance(content, str) else ""
    return "\n".join(readable(part) for part in content if part.get("type") in _TEXT)


def user_message(text: str) -> Message:
    """A user message item that says `text`."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def synthetic_result(call: Call, text: str) -> Message:
    """The output item that `call` waits for, in the shape of its kind."""
    return _SYNTHETIC.get(call.kind, _function_output)(call.id, text)


def _function_output(call_id: str, text: str) -> Message:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""One transparent pixel: a computer call can only be answered by a picture."""

_SYNTHETIC: dict[str, Callable[[str, str], Message]] = {
    "custom": lambda i, t: {"type": "custom_tool_call_output", "call_id": i, "output": t},
    "local_shell": lambda i, t: {"type": "local_shell_call_output", "id": i, "output": t},
    "shell": lambda i, t: {
        "type": "shell_call_output",
        "call_id": i,
        "output": [{"stdout": "", "stderr": t, "outcome": {"type": "exit", "exit_code": 1}}],
    },
    "apply_patch": lambda i, t: {
        "type": "apply_patch_call_output",
        "call_id": i,
        "status": "failed",
        "output": t,
    },
    "computer": lambda i, _: {
        "type": "computer_call_output",
        "call_id": i,
        "output": {"type": "computer_screenshot", "image_url": _PIXEL},
    },
    "tool_search": lambda i, _: {
        "type": "tool_search_output",
        "call_id": i,
        "execution": "client",
        "status": "incomplete",
        "tools": [],
    },
    "program": lambda i, t: {
        "type": "program_output",
        "id": f"{i}_output",
        "call_id": i,
        "result": t,
        "status": "incomplete",
    },
    "mcp_approval": lambda i, t: {
        "type": "mcp_approval_response",
        "approval_request_id": i,
        "approve": False,
        "reason": t,
    },
}


def result_text(item: Message, result: Result) -> str:  # noqa: ARG001 - one signature for all formats
    """The text of the output, which is the whole item."""
    return _output_text(item)


_IDS_THAT_ARE_CONTENT = frozenset(
    {"item_reference", "mcp_approval_request", "image_generation_call", "local_shell_call_output"}
)
_KNOWN = frozenset({"message", "reasoning", "compaction", "mcp_list_tools", *_CALLS, *_RESULTS, *_SERVER})


def one_shape(item: dict[str, Any]) -> dict[str, Any]:
    """`item` without status and item id, its type written out, string content and output as one text part.

    An id stays where it is what the item says: references, approval requests, generated images, results that
    name their call by it, and every type not known here.
    """
    kind = item.get("type")
    if kind is None and "role" in item:
        kind = "message"
    shaped = {key: value for key, value in item.items() if key != "status"}
    if not isinstance(kind, str):
        return shaped
    shaped["type"] = kind
    if kind in _KNOWN - _IDS_THAT_ARE_CONTENT:
        shaped.pop("id", None)
    if kind == "message" and isinstance(item.get("content"), str):
        part = "output_text" if item.get("role") == "assistant" else "input_text"
        shaped["content"] = [{"type": part, "text": item["content"]}]
    elif kind in {"function_call_output", "custom_tool_call_output"} and isinstance(item.get("output"), str):
        shaped["output"] = [{"type": "input_text", "text": item["output"]}]
    return shaped
