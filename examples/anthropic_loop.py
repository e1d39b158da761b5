"""An agent loop on the Anthropic SDK whose context never overflows and never waits for a summary.

Two lines differ from a plain loop: the context comes from `session.prepare`, the reply goes to `session.record`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anthropic import Anthropic
from anthropic.types import Message, ToolUseBlock

from precompact import Session

MODEL = "claude-sonnet-4-6"
Tool = Callable[..., str]


def run(llm: Anthropic, session: Session, task: str, tools: Mapping[str, Tool], schemas: list[Any]) -> str:
    """Work on `task` until the model calls no more tools; its last words."""
    context = session.prepare({"role": "user", "content": task})
    while True:
        reply = llm.messages.create(model=MODEL, max_tokens=8_000, tools=schemas, messages=context.messages)
        session.record(reply)
        calls = [part for part in reply.content if isinstance(part, ToolUseBlock)]
        if not calls:
            return text_of(reply)
        context = session.prepare({"role": "user", "content": [answer(call, tools) for call in calls]})


def answer(call: ToolUseBlock, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """The result of one call; a failing tool is something the model should read about."""
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return result | {"content": tools[call.name](**call.input)}
    except Exception as error:  # noqa: BLE001 - whatever a tool raises
        return result | {"content": f"{type(error).__name__}: {error}", "is_error": True}


def text_of(reply: Message) -> str:
    """The text of a reply."""
    return "".join(part.text for part in reply.content if part.type == "text")
