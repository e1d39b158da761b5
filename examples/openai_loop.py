"""An agent loop on the OpenAI SDK (Responses) whose context never overflows and never waits for a summary.

Two lines differ from a plain loop: the context comes from `session.prepare`, the reply goes to `session.record`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from openai import OpenAI
from openai.types.responses import ResponseFunctionToolCall

from precompact import Session

MODEL = "gpt-5.6"
Tool = Callable[..., str]


def run(llm: OpenAI, session: Session, task: str, tools: Mapping[str, Tool], schemas: list[Any]) -> str:
    """Work on `task` until the model calls no more tools; its last words."""
    context = session.prepare({"role": "user", "content": task})
    while True:
        reply = llm.responses.create(
            model=MODEL,
            input=context.messages,
            tools=schemas,
            store=False,
            include=["reasoning.encrypted_content"],
        )
        session.record(reply)
        calls = [item for item in reply.output if isinstance(item, ResponseFunctionToolCall)]
        if not calls:
            return reply.output_text
        context = session.prepare([answer(call, tools) for call in calls])


def answer(call: ResponseFunctionToolCall, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """The result of one call; a failing tool is something the model should read about."""
    try:
        output = tools[call.name](**json.loads(call.arguments))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises
        output = f"{type(error).__name__}: {error}"
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}
