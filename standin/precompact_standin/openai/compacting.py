"""`POST /v1/responses/compact`: the user's messages as they are, then one opaque item for everything."""

from __future__ import annotations

from typing import Any

from precompact_standin.answers import Answer, as_json
from precompact_standin.openai import fields
from precompact_standin.openai.reading import checked_body
from precompact_standin.openai.request import Item, Request, kind_of, parts_of, read_request
from precompact_standin.openai.responses import (
    COMPACT_PROMPT,
    SUMMARY_TOKENS,
    sealed_item,
    spoken,
    window_pieces,
)
from precompact_standin.openai.rules import check
from precompact_standin.openai.running import room_left, run
from precompact_standin.openai.usage import response_usage
from precompact_standin.refusal import Refusal, broken
from precompact_standin.saying import Asked
from precompact_standin.state import Call, State

DEFAULT_MODEL = "gpt-6-sol"


def compact(state: State, call: Call) -> Answer:
    """The next window: pass it on unpruned."""
    checked_body(call.body, fields.COMPACT)
    request = read_request(state, call, state.model(call.body["model"] or DEFAULT_MODEL))
    check(request)
    _check_options(call.body)
    if not request.window:
        raise broken(
            "O0", "Missing required parameter: 'input'.", param="input", code="missing_required_parameter"
        )
    parts = window_pieces(state, request, request.window)
    room = room_left(parts, request.model, "input")
    prompt = str(call.body.get("instructions") or "") or COMPACT_PROMPT
    asked = Asked(spoken(request, request.window), prompt, "", SUMMARY_TOKENS, room, always_summary=True)
    done = run(state, call, request.model, parts, asked)
    if not done.said.text.strip():
        raise Refusal("The server had an error", 500, "server_error", code="server_error")
    body = {
        "id": state.next_id("resp"),
        "object": "response.compaction",
        "created_at": int(state.now_s()),
        "output": [*_kept(state, request), sealed_item(state, request, done.said.text)],
        "usage": response_usage(done.plan, done.said, request.model),
    }
    call.facts["usage"] = body["usage"]
    answer = as_json(body, tokens=done.said.tokens, on_begin=lambda: state.cache.commit(done.plan))
    return answer.with_headers(done.headers)


def _kept(state: State, request: Request) -> list[Item]:
    messages = [item for item in request.window if kind_of(item) == "message" and item["role"] == "user"]
    return [
        {
            "id": item.get("id") or state.next_id("msg"),
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": parts_of(item["content"]),
        }
        for item in messages
    ]


def _check_options(body: dict[str, Any]) -> None:
    ttl = (body.get("prompt_cache_options") or {}).get("ttl")
    if ttl not in {None, "30m"}:
        text = f"Invalid value: '{ttl}'. Supported values are: '30m'."
        raise broken("P2", text, param="prompt_cache_options.ttl", code="invalid_value")
