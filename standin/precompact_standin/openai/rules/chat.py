"""C1 to C4 and the shapes of chat messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from precompact_standin.models import Model
from precompact_standin.openai import fields
from precompact_standin.openai.rules import limits
from precompact_standin.refusal import Refusal, broken

Message = dict[str, Any]
Rule = Callable[[Sequence[Message]], Iterable[Refusal]]


def check_chat(body: dict[str, Any], model: Model, rules_off: Sequence[str]) -> None:
    """Raise the first refusal of a rule that is not switched off."""
    found = body["messages"]
    if not isinstance(found, list) or not found or not all(isinstance(message, dict) for message in found):
        raise broken("C0", "Invalid 'messages': expected a list with at least one message.", param="messages")
    for at, tool in enumerate(body.get("tools") or []):
        if not isinstance(tool, dict) or not isinstance(tool.get("function") or {}, dict):
            raise broken("C0", f"Invalid type for 'tools[{at}]': expected an object.", param=f"tools[{at}]")
    stops = body.get("stop")
    if stops is not None and not (isinstance(stops, str) or _are_texts(stops)):
        raise broken("C0", "Invalid type for 'stop': expected texts.", param="stop", code="invalid_type")
    for refusal in (*_sampling(body, model), *limits.output_of(body, model), *limits.tier_of(body)):
        if refusal.rule not in rules_off:
            raise refusal
    for rule in RULES:
        for refusal in rule(found):
            if refusal.rule not in rules_off:
                raise refusal


def shapes(messages: Sequence[Message]) -> Iterator[Refusal]:
    """C0: known roles; no unknown or null fields."""
    for at, message in enumerate(messages):
        shape = fields.CHAT_MESSAGES.get(str(message.get("role")))
        where = f"messages[{at}]"
        if shape is None:
            yield broken(
                "C0", f"Invalid value: '{message.get('role')}'.", param=f"{where}.role", code="invalid_value"
            )
        elif (found := shape.faults(message, where, "C0")) is not None:
            yield broken("C0", f"Unknown or invalid parameter: '{found.param}'.", param=found.param)
        for call in _calls(message):
            if not isinstance(call, dict):
                yield broken(
                    "C0", f"Invalid type for '{where}.tool_calls'.", param=where, code="invalid_type"
                )
            elif (found := fields.CHAT_CALL.faults(call, f"{where}.tool_calls", "C0")) is not None:
                yield broken("C0", f"Unknown or invalid parameter: '{found.param}'.", param=found.param)


def answered(messages: Sequence[Message]) -> Iterator[Refusal]:
    """C1: tool messages for every call stand directly behind it."""
    for at, message in enumerate(messages):
        calls = [call["id"] for call in message.get("tool_calls") or []]
        missing = [call for call in calls if call not in _answers(messages, at)]
        if missing:
            text = (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}"
            )
            yield broken("C1", text, param=f"messages[{at}].role")


def belonging(messages: Sequence[Message]) -> Iterator[Refusal]:
    """C2: each tool message answers a call in front of it, each call once."""
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] != "tool":
            waiting = [call["id"] for call in message.get("tool_calls") or []]
        elif message["tool_call_id"] in waiting:
            waiting.remove(message["tool_call_id"])
        else:
            text = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
            yield broken("C2", text, param=f"messages[{at}].role")


def assistant_content(messages: Sequence[Message]) -> Iterator[Refusal]:
    """C3: an assistant says something unless it calls, refuses or speaks aloud."""
    for at, message in enumerate(messages):
        others = any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio"))
        if message["role"] == "assistant" and message.get("content") is None and not others:
            text = f"Invalid value for 'content': expected a string, got null. ({at})"
            yield broken("C3", text, param=f"messages[{at}].content", code="invalid_value")


def parts(messages: Sequence[Message]) -> Iterator[Refusal]:
    """C4: lists of parts are not empty; tools answer with text, images are the user's."""
    for at, message in enumerate(messages):
        content, where = message.get("content"), f"messages[{at}].content"
        if content is not None and not isinstance(content, (str, list)):
            yield broken("C4", f"Invalid type for '{where}'.", param=where, code="invalid_type")
        if content == []:
            yield broken("C4", f"Invalid '{where}': empty array.", param=where, code="empty_array")
        for part in content if isinstance(content, list) else []:
            yield from _part(part, message["role"], where)


def _calls(message: Message) -> list[Any]:
    found = message.get("tool_calls")
    return found if isinstance(found, list) else []


RULES: tuple[Rule, ...] = (shapes, parts, assistant_content, answered, belonging)


def _part(part: Any, role: str, where: str) -> Iterator[Refusal]:
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    allowed = {"user": set(fields.CHAT_PARTS) - {"refusal"}, "assistant": {"text", "refusal"}}.get(
        role, {"text"}
    )
    if kind not in allowed:
        yield broken(
            "C4", f"Invalid value: '{kind}' in a message of role {role}.", param=where, code="invalid_value"
        )
    elif (found := fields.CHAT_PARTS[kind].faults(part, where, "C0")) is not None:
        yield broken("C0", f"Unknown or invalid parameter: '{found.param}'.", param=found.param)


def _answers(messages: Sequence[Message], at: int) -> set[str]:
    found = set()
    for message in messages[at + 1 :]:
        if message["role"] != "tool":
            break
        found.add(message["tool_call_id"])
    return found


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _sampling(body: dict[str, Any], model: Model) -> Iterator[Refusal]:
    given = [name for name in ("temperature", "top_p") if body.get(name) is not None]
    if given and model.name.startswith("gpt-6") and body.get("reasoning_effort") != "none":
        text = f"Unsupported parameter: '{given[0]}' is not supported with this model."
        yield broken("P1", text, param=given[0], code="unsupported_parameter")
