"""From a call to a request that passed all rules, with its messages as the model will read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from precompact_standin.anthropic import fields
from precompact_standin.anthropic.binding import THINKING, mismatches
from precompact_standin.anthropic.editing import edited, from_newest_block
from precompact_standin.anthropic.headers import BINDING, betas_of, version_of
from precompact_standin.anthropic.prompt import count
from precompact_standin.anthropic.request import Request, blocks_of
from precompact_standin.anthropic.rules import check
from precompact_standin.refusal import Refusal, broken
from precompact_standin.shapes import Shape
from precompact_standin.state import Call, State

DEFAULT_THRESHOLD_TOKENS = 150_000


@dataclass(frozen=True, slots=True)
class Ready:
    """The messages the model reads, and what was done to the ones that were sent."""

    messages: list[dict[str, Any]]
    tokens: int
    original_tokens: int
    applied: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    compacts_at: dict[str, Any] | None = None
    """The threshold edit whose trigger was reached."""


def ready(state: State, call: Call, *, counting: bool = False) -> tuple[Request, Ready]:
    """Check the call from its headers to its last block. Raises the first refusal."""
    version, betas = version_of(call.headers), betas_of(call.headers)
    _check_top(call.body, fields.COUNT_REQUEST if counting else fields.REQUEST, betas)
    model = state.model(call.body["model"])
    request = Request(call.body, model, version, betas, state.scenario, state.signer, counting)
    if not counting:
        _check_output(request)
    check(request)
    return request, _prepared(state, request)


def _check_top(body: dict[str, Any], shape: Shape, betas: frozenset[str]) -> None:
    for name, wanted in fields.BETA_FIELDS.items():
        if name in body and not wanted & betas:
            text = f"{name}: Extra inputs are not permitted; it needs one of the betas {', '.join(sorted(wanted))}"
            raise broken("A19", text, param=name)
    if (refusal := shape.faults(body, "", "A19")) is not None:
        raise refusal
    if not isinstance(body["model"], str) or not body["model"]:
        raise broken("A19", "model: Input should be a valid string")


def _check_output(request: Request) -> None:
    max_tokens = request.body["max_tokens"]
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 0:
        raise broken("A19", "max_tokens: Input should be a valid integer of 0 or more")
    if max_tokens > request.model.max_output:
        limit = request.model.max_output
        text = (
            f"max_tokens: {max_tokens} > {limit}, which is the maximum allowed number of output tokens for "
        )
        raise Refusal(text + request.model.name)
    binding = (request.body.get("thinking") or {}) if isinstance(request.body.get("thinking"), dict) else {}
    if "block_binding" in binding and BINDING not in request.betas:
        raise broken(
            "A19", f"thinking.block_binding: Extra inputs are not permitted; it needs the beta {BINDING}"
        )


def _prepared(state: State, request: Request) -> Ready:
    kept, dropped = _without_mismatches(request)
    messages = from_newest_block(kept)

    def measure(some: list[dict[str, Any]]) -> int:
        return count(request, some, state.counter)

    result = edited(messages, request.edits, measure)
    tokens = measure(result.messages)
    compacting = next((edit for edit in request.edits if _reached(edit, tokens)), None)
    return Ready(result.messages, tokens, measure(messages), result.applied, dropped, compacting)


def _without_mismatches(request: Request) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """With `drop_block`: the messages without thinking that is not bound to them, and the list of what went."""
    binding = (request.body.get("thinking") or {}).get("block_binding") or {}
    if binding.get("prefix_mismatch_behavior") != "drop_block":
        return request.messages, []
    found = {one.path: one.reason for one in mismatches(request)}
    messages = [
        {
            **message,
            "content": [
                block
                for at, block in enumerate(blocks_of(message["content"]))
                if _stays(found, index, at, block)
            ],
        }
        for index, message in enumerate(request.messages)
    ]
    dropped = [{"type": "thinking_dropped", "path": path, "reason": reason} for path, reason in found.items()]
    return messages, dropped


def _stays(found: dict[str, str], index: int, at: int, block: dict[str, Any]) -> bool:
    return block["type"] not in THINKING or f"messages.{index}.content.{at}" not in found


def _reached(edit: dict[str, Any], tokens: int) -> bool:
    trigger = edit.get("trigger") or {"value": DEFAULT_THRESHOLD_TOKENS}
    return edit["type"] == "compact_20260112" and tokens >= int(trigger["value"])
