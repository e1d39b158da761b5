"""What is sent on the agent's live prefix: its own request, word for word, and what is said behind it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from precompact_shared.engine import formats
from precompact_shared.engine.tokens import family_factor
from precompact_shared.engine.types import Format, Message
from precompact_worker.prompting import Kept, prefix_task
from precompact_worker.providers.anthropic import room_to_think
from precompact_worker.providers.base import Request
from precompact_worker.providers.marking import marked
from precompact_worker.providers.native import sendable
from precompact_worker.providers.openai import REASONING_TOKENS, reasons

LEAST_OUTPUT_TOKENS = 1_024
LIMITS_OUTPUT = ("max_tokens", "max_output_tokens", "max_completion_tokens")
KEPT_CHARACTERS = 120
"""Of the first message that stays, to tell which one it is."""
OURS = frozenset(
    {
        "model",
        "messages",
        "input",
        "stream",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "stream_options",
        "system",
        "instructions",
        "tools",
    }
)
"""Parameters that we set, whatever the caller's request says."""
CLASHING = frozenset(
    {
        "stop",
        "stop_sequences",
        "response_format",
        "text",
        "output_format",
        "context_management",
        "n",
        "previous_response_id",
        "store",
        "cache_control",
    }
)
"""Parameters that would spoil a summary, that belong to the caller's own call, or that ours take the place of."""
SPOILING = frozenset({"response_format", "text", "output_format"})
"""Those among them without which the rest of the request no longer matches the agent's cache."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The agent's messages as it last sent them, and what we say behind them."""

    shared: tuple[Message, ...]
    said: tuple[Message, ...]


def conversation(request: Request, more: Iterable[Message] = (), *, sends_tail: bool) -> Conversation:
    """The context, up to the cut or whole, with the task behind it, and with `more` behind that."""
    whole = replace(request, covered=(*request.covered, *request.tail)) if sends_tail else request
    kept = kept_of(request) if sends_tail else None
    text = prefix_task(request.preset, request.focus, request.max_tokens, kept)
    return Conversation(tuple(sendable(whole, keeps_pinned=True)), ({"role": "user", "content": text}, *more))


def kept_of(request: Request) -> Kept | None:
    """How the model is told what stays; None where nothing does."""
    if not request.tail:
        return None
    words = " ".join(formats.plain_text(request.format, request.tail[0].message).split())
    return Kept(len(request.tail), words[:KEPT_CHARACTERS])


def body_of(prefix: Mapping[str, Any], request: Request, model: str, talk: Conversation) -> dict[str, Any]:
    """The request: the caller's system prompt, tools and parameters as they are, marks where they read its cache."""
    params = params_of(prefix)
    front = front_of(prefix, request.format)
    messages = marked(request.format, talk.shared, talk.said, front)
    return {
        **params,
        "model": model,
        **front,
        **_sized(request, messages, _most_output(request, model, prefix.get("params") or {})),
    }


def params_of(prefix: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's parameters that go along."""
    params = prefix.get("params") or {}
    kept = {name: value for name, value in params.items() if name not in OURS | CLASHING}
    if _forces_a_call(
        kept.get("tool_choice")
    ):  # a call is no summary; any other choice stays: it is cached with
        del kept["tool_choice"]
    config = kept.get("output_config")
    if isinstance(config, Mapping):
        kept["output_config"] = {name: value for name, value in config.items() if name != "format"}
    return kept


def matches_cache(prefix: Mapping[str, Any]) -> bool:
    """Whether the agent's cache can be read at all: some parameters have to go, and it is kept apart by them."""
    params = prefix.get("params") or {}
    config = params.get("output_config")
    has_form = SPOILING & params.keys() or (isinstance(config, Mapping) and "format" in config)
    return not (has_form or _forces_a_call(params.get("tool_choice")))


def front_of(prefix: Mapping[str, Any], wire: Format) -> dict[str, Any]:
    """System prompt and tools under the protocol's own names."""
    system = "instructions" if wire is Format.OPENAI_RESPONSES else "system"
    front = {system: prefix.get("system"), "tools": prefix.get("tools")}
    if wire is Format.OPENAI_CHAT:  # its system message stands in the history
        del front[system]
    return {name: value for name, value in front.items() if value}


def _forces_a_call(choice: Any) -> bool:
    if isinstance(choice, Mapping):
        return choice.get("type") not in {"auto", "none"}
    return choice in {"any", "required"}


def _most_output(request: Request, model: str, params: Mapping[str, Any]) -> int:
    """Room for the record, and for what the model thinks first: as much as the agent gives it, since both count as output."""
    most = max(LEAST_OUTPUT_TOKENS, int(request.max_tokens * family_factor(model)))
    thinking = params.get("thinking")
    if isinstance(thinking, Mapping) and isinstance(thinking.get("budget_tokens"), int):
        return room_to_think(most, params)
    if not _thinks(model, thinking, params.get("reasoning")):
        return most
    return max(most + REASONING_TOKENS, *(_whole(params.get(name)) for name in LIMITS_OUTPUT))


def _thinks(model: str, thinking: Any, reasoning: Any) -> bool:
    if isinstance(thinking, Mapping):
        return thinking.get("type") != "disabled"
    return reasons(model) and not (isinstance(reasoning, Mapping) and reasoning.get("effort") == "none")


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _sized(request: Request, messages: list[Message], most: int) -> dict[str, Any]:
    match request.format:
        case Format.ANTHROPIC:
            return {"messages": messages, "max_tokens": most}
        case Format.OPENAI_RESPONSES:
            return {"input": messages, "max_output_tokens": most, "store": False}
        case Format.OPENAI_CHAT:
            return {
                "messages": messages,
                "max_completion_tokens": most,
                "stream_options": {"include_usage": True},
            }
