"""`POST /v1/chat/completions`."""

from __future__ import annotations

from typing import Any

import msgspec

from precompact_standin.answers import Answer
from precompact_standin.openai import fields
from precompact_standin.openai.prompt import head, message_pieces
from precompact_standin.openai.reading import checked_body
from precompact_standin.openai.request import parts_of
from precompact_standin.openai.rules.chat import check_chat
from precompact_standin.openai.running import Pass, output_limit, room_left, run
from precompact_standin.openai.usage import chat_usage
from precompact_standin.openai.writing_chat import written
from precompact_standin.saying import Asked, Ending, Said
from precompact_standin.state import Call, State
from precompact_standin.summarising import Spoken

FINISH_REASONS = {
    Ending.DONE: "stop",
    Ending.CALLS: "tool_calls",
    Ending.LENGTH: "length",
    Ending.WINDOW: "length",
    Ending.FILTERED: "content_filter",
    Ending.REFUSED: "stop",
    Ending.PAUSED: "stop",
    Ending.STOPPED: "stop",
    Ending.FAILED: "stop",
}


def chat(state: State, call: Call) -> Answer:
    """One completion."""
    body = call.body
    checked_body(body, fields.CHAT)
    model = state.model(body["model"])
    check_chat(body, model, state.scenario.rules_off)
    messages: list[dict[str, Any]] = body["messages"]
    parts = [*head(body, state.counter, model), *message_pieces(messages, state.counter, model)]
    room = room_left(parts, model, "messages")
    done = run(
        state,
        call,
        model,
        parts,
        _asked(call, messages, output_limit(body, model, "max_completion_tokens", "max_tokens"), room),
    )
    completion = _completion(state, model.name, done, chat_usage(done.plan, done.said, model))
    call.facts["usage"], call.facts["finish_reason"] = completion["usage"], FINISH_REASONS[done.said.ending]
    counts = bool((body.get("stream_options") or {}).get("include_usage"))
    answer = written(
        completion,
        stream=bool(body.get("stream")),
        counts=counts,
        fault=call.fault,
        on_begin=lambda: state.cache.commit(done.plan),
        tokens=done.said.tokens,
    )
    return answer.with_headers(done.headers)


def _asked(call: Call, messages: list[dict[str, Any]], max_tokens: int, room: int) -> Asked:
    said = [
        Spoken(str(message["role"]), str(part.get("text", "")))
        for message in messages
        for part in parts_of(message.get("content"))
    ]
    leading = said[0].text if said and said[0].role in {"system", "developer"} else ""
    newest = said[-1].text if said and said[-1].role in {"user", "developer"} else ""
    effort, stops = call.body.get("reasoning_effort"), call.body.get("stop")
    return Asked(
        said,
        newest,
        leading,
        max_tokens,
        room,
        thinks=effort not in {None, "none"},
        stops=[stops] if isinstance(stops, str) else list(stops or ()),
        tools=[str((tool.get("function") or {}).get("name")) for tool in call.body.get("tools") or []],
    )


def _completion(state: State, model: str, done: Pass, usage: dict[str, Any]) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": _message(state, done.said),
        "finish_reason": FINISH_REASONS[done.said.ending],
        "logprobs": None,
    }
    return {
        "id": state.next_id("chatcmpl"),
        "object": "chat.completion",
        "created": int(state.now_s()),
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def _message(state: State, said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": None}
    if said.ending is Ending.REFUSED:
        message["refusal"] = "I cannot help with that."
    if said.calls:
        message["tool_calls"] = [
            {
                "id": state.next_id("call"),
                "type": "function",
                "function": {"name": one.name, "arguments": msgspec.json.encode(one.input).decode()},
            }
            for one in said.calls
        ]
    return message
