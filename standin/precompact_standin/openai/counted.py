"""`POST /v1/responses/input_tokens`."""

from __future__ import annotations

from precompact_standin.answers import Answer, as_json
from precompact_standin.openai import fields
from precompact_standin.openai.compacting import DEFAULT_MODEL
from precompact_standin.openai.reading import checked_body
from precompact_standin.openai.request import read_request
from precompact_standin.openai.responses import window_pieces
from precompact_standin.openai.rules import check
from precompact_standin.state import Call, State


def input_tokens(state: State, call: Call) -> Answer:
    """The tokens the request would be charged; free, and no bucket is touched."""
    checked_body(call.body, fields.INPUT_TOKENS)
    request = read_request(state, call, state.model(call.body.get("model") or DEFAULT_MODEL))
    check(request)
    tokens = sum(piece.tokens for piece in window_pieces(state, request, request.window))
    return as_json({"object": "response.input_tokens", "input_tokens": tokens})
