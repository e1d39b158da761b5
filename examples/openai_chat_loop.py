"""An agent loop on the OpenAI SDK (Chat Completions, any compatible server) with compaction in the background.

Two lines differ from a plain loop: the context comes from `session.prepare`, the reply goes to `session.record`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageFunctionToolCall

from precompact import Session

MODEL = "gpt-5.6"
Tool = Callable[..., str]


def run(llm: OpenAI, session: Session, task: str, tools: Mapping[str, Tool], schemas: list[Any]) -> str:
    """Work on `task` until the model calls no more tools; its last words."""
    context = session.prepare({"role": "user", "content": task})
    while True:
        reply = llm.chat.completions.create(
            model=MODEL,
            messages=context.messages,
            tools=schemas,
        )
        session.record(reply)
        message = reply.choices[0].message
        calls = [
            call
            for call in message.tool_calls or ()
            if isinstance(call, ChatCompletionMessageFunctionToolCall)
        ]
        if not calls:
            return message.content or ""
        context = session.prepare([answer(call, tools) for call in calls])


def answer(call: ChatCompletionMessageFunctionToolCall, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """The result of one call; a failing tool is something the model should read about."""
    try:
        content = tools[call.function.name](**json.loads(call.function.arguments))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises
        content = f"{type(error).__name__}: {error}"
    return {"role": "tool", "tool_call_id": call.id, "content": content}
