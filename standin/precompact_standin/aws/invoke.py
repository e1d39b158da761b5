"""`POST /model/{id}/invoke` and its stream: Bedrock says in body and path what the API itself says in headers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from precompact_standin.answers import Answer, Event
from precompact_standin.anthropic.endpoint import messages
from precompact_standin.anthropic.headers import NEW_VERSION, OLD_VERSION
from precompact_standin.aws import eventstream
from precompact_standin.aws.errors import error_events
from precompact_standin.refusal import Refusal, broken
from precompact_standin.state import Call, State

OWN_VERSION = "bedrock-2023-05-31"
_UP_TO_4_6 = re.compile(r"claude-(3|\w+-4-[0-6](?!\d)|\w+-4-\d{8})")
"""Models of Bedrock's that do not know the newest version."""


def invoke(state: State, call: Call) -> Answer:
    """As `/v1/messages`, in JSON."""
    return messages(state, _unpacked(call))


def invoke_stream(state: State, call: Call) -> Answer:
    """The same as a stream of AWS's."""
    made = _unpacked(call)
    made.body["stream"] = True
    answer = messages(state, made)
    events = [event for event in answer.events or () if not event.data.startswith(b"event: ping")]
    ping = eventstream.chunk({"type": "ping"})
    errors = error_events(call.fault)
    streamed = replace(answer, events=_reframed(events), error_events=errors, ping=ping)
    return streamed.with_headers({"content-type": eventstream.MEDIA_TYPE})


def _unpacked(call: Call) -> Call:
    model = call.named["model"]
    body = {**call.body, "model": model[max(0, model.find("claude")) :]}
    version = str(body.pop("anthropic_version", None))
    betas = body.pop("anthropic_beta", [])
    if "model" in call.body or "stream" in call.body:
        raise broken("A19", "model, stream: Extra inputs are not permitted")
    if version not in {OWN_VERSION, NEW_VERSION} or (version == NEW_VERSION and _UP_TO_4_6.search(model)):
        raise Refusal("anthropic_version: not supported by this model")
    if not isinstance(betas, list) or not all(isinstance(beta, str) for beta in betas):
        raise broken("A19", "anthropic_beta: Input should be a valid list")
    said = {
        **call.headers,
        "anthropic-version": OLD_VERSION if version == OWN_VERSION else version,
        "anthropic-beta": ",".join(betas),
    }
    return replace(call, headers=said, body=body)


def _reframed(events: Sequence[Event]) -> list[Event]:
    """Server-sent events as messages of AWS's; the last one tells Bedrock's own figures besides."""
    payloads = [msgspec.json.decode(event.data.partition(b"\ndata: ")[2]) for event in events]
    payloads[-1]["amazon-bedrock-invocationMetrics"] = _metrics(payloads)
    return [
        Event(eventstream.chunk(payload), event.tokens)
        for payload, event in zip(payloads, events, strict=True)
    ]


def _metrics(payloads: Sequence[dict[str, Any]]) -> dict[str, int]:
    usage: dict[str, int] = next((one["usage"] for one in reversed(payloads) if "usage" in one), {})
    told = {
        "inputTokenCount": usage.get("input_tokens", 0),
        "outputTokenCount": usage.get("output_tokens", 0),
    }
    return {**told, "invocationLatency": 1, "firstByteLatency": 1}
