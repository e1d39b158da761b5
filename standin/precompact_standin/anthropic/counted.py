"""`POST /v1/messages/count_tokens`."""

from __future__ import annotations

from precompact_standin.answers import Answer, as_json
from precompact_standin.anthropic.reading import ready
from precompact_standin.state import Call, State


def count_tokens(state: State, call: Call) -> Answer:
    """The tokens the request would be charged, after edits; free, and no bucket is touched."""
    request, prepared = ready(state, call, counting=True)
    body: dict[str, object] = {"input_tokens": prepared.tokens}
    if request.edits:
        body["context_management"] = {"original_input_tokens": prepared.original_tokens}
    return as_json(body)
