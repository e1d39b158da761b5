"""Whole replies, as JSON: text, verdict and usage, in each protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from precompact_shared.engine.types import Format
from precompact_shared.engine.usage import Usage, anthropic_usage, chat_usage, responses_usage
from precompact_worker.providers import anthropic_verdicts, openai_verdicts
from precompact_worker.providers.failures import Garbled
from precompact_worker.providers.speaking import Said
from precompact_worker.providers.verdicts import Failure, Finding

MISSHAPEN = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
"""What reading JSON of another shape raises."""


def read_whole(format: Format, raw: bytes) -> tuple[Said, Usage, str | None]:  # noqa: A002
    """Text and verdict, usage and id of a reply as the provider gave it. Raises `Garbled` for what is none."""
    try:
        told = json.loads(raw)
        said, usage = _READERS[format](told)
        reply_id = told.get("id")
    except MISSHAPEN:
        raise Garbled from None
    usable = isinstance(reply_id, str) and len(reply_id) <= 100 and reply_id.isascii()
    return said, usage, reply_id if usable else None


def texts_of(response: Mapping[str, Any], kind: str, field: str) -> str:
    """The texts of a response's parts of one kind, joined."""
    items = response.get("output") or []
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or []]
    return "".join(part.get(field) or "" for part in parts if part.get("type") == kind)


_OURS_TO_RUN = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "mcp_approval_request",
    }
)
"""Calls that wait for the caller; tools of the provider's own have run by the time the reply is there."""


def calls_of(response: Mapping[str, Any]) -> bool:
    """Whether a response wants to run a tool."""
    return any(item.get("type") in _OURS_TO_RUN for item in response.get("output") or [])


def words_of(content: Any) -> str:
    """Text of a chat message or delta: a string, or parts as some servers have them. Raises `TypeError` for others."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type") in {"text", None})
    if content is not None and not isinstance(content, str):
        raise TypeError
    return content or ""


def judge_final(response: Mapping[str, Any], text: str) -> Finding:
    """What a response in its last state means; an empty one stands for a stream that was cut off."""
    return openai_verdicts.judge_response(
        response.get("status"),
        code=str((response.get("error") or {}).get("code") or ""),
        reason=str((response.get("incomplete_details") or {}).get("reason") or ""),
        text=text,
        refused=bool(texts_of(response, "refusal", "refusal")),
        calls=calls_of(response),
    )


def _anthropic(told: Mapping[str, Any]) -> tuple[Said, Usage]:
    if isinstance(told.get("error"), Mapping):
        return Said("", anthropic_verdicts.judge_failure(_failure(told["error"]))), Usage()
    text = "".join(part["text"] for part in told["content"] if part.get("type") == "text")
    finding = anthropic_verdicts.judge_reply(told.get("stop_reason"), text)
    return Said(text, finding), anthropic_usage(told.get("usage"))


def _responses(told: Mapping[str, Any]) -> tuple[Said, Usage]:
    if "status" not in told and isinstance(told.get("error"), Mapping):
        return Said("", openai_verdicts.judge_failure(_failure(told["error"]))), Usage()
    text = texts_of(told, "output_text", "text")
    return Said(text, judge_final(told, text)), responses_usage(told.get("usage"))


def _chat(told: Mapping[str, Any]) -> tuple[Said, Usage]:
    if isinstance(told.get("error"), Mapping):
        return Said("", openai_verdicts.judge_failure(_failure(told["error"]))), Usage()
    choice = told["choices"][0]
    message = choice["message"]
    text = words_of(message.get("content"))
    finding = openai_verdicts.judge_choice(
        choice.get("finish_reason"), text, refused=bool(message.get("refusal"))
    )
    return Said(text, finding), chat_usage(told.get("usage"))


def _failure(error: Mapping[str, Any]) -> Failure:
    """An error that came with status 200, as routers do it."""
    code, kind = error.get("code"), error.get("type")
    return Failure(
        200,
        type=kind if isinstance(kind, str) else "",
        code=code if isinstance(code, str) else "",
        text=str(error.get("message")),
    )


_READERS: dict[Format, Callable[[Mapping[str, Any]], tuple[Said, Usage]]] = {
    Format.ANTHROPIC: _anthropic,
    Format.OPENAI_RESPONSES: _responses,
    Format.OPENAI_CHAT: _chat,
}
