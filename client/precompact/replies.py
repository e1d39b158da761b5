"""Replies of the provider SDKs, read as plain JSON: which messages to keep, and how large the prompt was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from precompact.context import Format
from precompact.splice import Message, fresh
from precompact.steps import encode

UsageBody = dict[str, int]


def plain(value: Any) -> dict[str, Any]:
    """An SDK object (`to_dict` or `model_dump`) or a mapping, as a plain dict that nobody else holds.

    Raises TypeError for anything else.
    """
    if isinstance(value, Mapping):
        return {name: _plain_item(item) for name, item in value.items()}
    if hasattr(value, "to_dict"):
        return dict(fresh(value.to_dict()))
    if hasattr(value, "model_dump"):
        return dict(fresh(value.model_dump(mode="json", exclude_unset=True)))
    raise TypeError(f"expected a mapping or an SDK object, got {type(value).__name__}")


def _plain_item(item: Any) -> Any:
    if isinstance(item, Mapping) or hasattr(item, "to_dict"):
        return plain(item)
    if isinstance(item, (list, tuple)):
        return [_plain_item(each) for each in item]
    return item


def sendable(message: Any) -> Message:
    """A message as plain JSON that both the service and the provider's SDK can send.

    Lone surrogates, which no UTF-8 can carry, become U+FFFD. Raises TypeError or ValueError for what is no JSON.
    """
    copied = plain(message)
    try:
        encode(copied)
    except UnicodeEncodeError:
        return dict(_mended(copied))
    return copied


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(name): _mended(item) for name, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, list) else value


def messages_of(wire: Format, reply: Any) -> list[Message]:
    """The entries a reply adds to the history, ready to be sent back; none for an empty reply."""
    body = plain(reply)
    if wire is Format.OPENAI_RESPONSES:
        return list(body.get("output") or ())
    if wire is Format.OPENAI_CHAT:
        return [_chat_message(body["choices"][0]["message"])] if body.get("choices") else []
    return [{"role": "assistant", "content": body["content"]}] if body.get("content") else []


def _chat_message(message: Message) -> Message:
    kept = {name: value for name, value in message.items() if value is not None or name == "content"}
    kept.pop("annotations", None)  # an answer's field; compatible servers refuse it in a request
    if "audio" in kept:
        kept["audio"] = {"id": kept["audio"]["id"]}
    return kept


def usage_of(wire: Format, usage: Any) -> UsageBody | None:
    """Token counts of one reply with `input_tokens` = the whole prompt, cached parts included.

    Anthropic reports the uncached rest, so cache writes and reads are added; OpenAI's count includes them.
    None when the numbers are no measure of the prompt: absent or zero. `server_tools`: they are summed over passes of
    tools that ran at the provider, so that the service counts from an older reply.
    """
    if usage is None:
        return None
    body = plain(usage)
    counts = _anthropic_usage(body) if wire is Format.ANTHROPIC else _openai_usage(body)
    return counts if counts["input_tokens"] > 0 else None


def _anthropic_usage(body: Mapping[str, Any]) -> UsageBody:
    written = body.get("cache_creation_input_tokens") or 0
    read = body.get("cache_read_input_tokens") or 0
    return {
        "input_tokens": (body.get("input_tokens") or 0) + written + read,
        "output_tokens": body.get("output_tokens") or 0,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        **_reasoning(body.get("output_tokens_details"), "thinking_tokens"),
        **_told("server_tools", any((body.get("server_tool_use") or {}).values())),
    }


def _openai_usage(body: Mapping[str, Any]) -> UsageBody:
    details = body.get("input_tokens_details") or body.get("prompt_tokens_details") or {}
    return {
        "input_tokens": body.get("input_tokens") or body.get("prompt_tokens") or 0,
        "output_tokens": body.get("output_tokens") or body.get("completion_tokens") or 0,
        "cache_read_tokens": details.get("cached_tokens") or 0,
        "cache_write_tokens": details.get("cache_write_tokens") or 0,
        **_reasoning(
            body.get("output_tokens_details") or body.get("completion_tokens_details"), "reasoning_tokens"
        ),
    }


def _reasoning(details: Any, name: str) -> UsageBody:
    count = details.get(name) if isinstance(details, Mapping) else None
    return {} if count is None else {"reasoning_tokens": count}


def _told(name: str, fact: bool) -> UsageBody:  # noqa: FBT001 - it is what is told
    return {name: True} if fact else {}


_SERVER_ITEMS = frozenset(
    {"code_interpreter_call", "file_search_call", "image_generation_call", "mcp_call", "web_search_call"}
)


def ran_server_tools(wire: Format, messages: Iterable[Message]) -> bool:
    """Whether a reply's messages hold calls of tools that ran at the provider (OpenAI's usage does not say)."""
    return wire is Format.OPENAI_RESPONSES and any(item.get("type") in _SERVER_ITEMS for item in messages)
