"""A10, A11: thinking comes back as it went out, and only where what stood before it is still there."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_standin.anthropic.binding import mismatches, misread
from precompact_standin.anthropic.request import Request, of_type
from precompact_standin.refusal import Refusal, broken

MIN_BUDGET_TOKENS = 1_024


def budget(request: Request) -> Iterator[Refusal]:
    """P3: a budget for thinking is 1,024 tokens at least, and leaves room for an answer."""
    tokens = (request.body.get("thinking") or {}).get("budget_tokens")
    most = request.body.get("max_tokens")
    if tokens is None:
        return
    if tokens < MIN_BUDGET_TOKENS:
        text = f"thinking.budget_tokens: Input should be greater than or equal to {MIN_BUDGET_TOKENS}"
        yield broken("P3", text, param="thinking.budget_tokens")
    if most is not None and tokens >= most:
        yield broken("P3", "`max_tokens` must be greater than `thinking.budget_tokens`", param="max_tokens")


def signed(request: Request) -> Iterator[Refusal]:
    """A10: thinking has its signature, redacted thinking its data; what was signed here is unchanged."""
    for path, block in request.blocks():
        if block["type"] == "redacted_thinking" and not block["data"]:
            yield broken("A10", f"{path}.data: Field required")
        if block["type"] == "thinking":
            if not block.get("signature"):
                yield broken("A10", f"{path}.signature: Field required")
            elif misread(block, request.signer, foreign=request.scenario.foreign_signatures):
                yield broken("A10", f"{path}: Invalid `signature` in `thinking` block")


def opens_loop(request: Request) -> Iterator[Refusal]:
    """A10: in an open tool loop the assistant's turn has thinking before its call, if thinking is `enabled`."""
    if len(request.turns) < 2:
        return
    turn, answer = request.turns[-2:]
    if turn.role != "assistant" or not of_type(answer.blocks, "tool_result"):
        return
    kinds = [block["type"] for block in turn.blocks]
    enabled = (request.body.get("thinking") or {}).get("type") == "enabled"
    if enabled and kinds[0] not in {"thinking", "redacted_thinking"}:
        yield broken(
            "A10",
            f"messages.{turn.at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block.",
        )


def bound(request: Request) -> Iterator[Refusal]:
    """A11: on models that check it, thinking stands behind what it stood behind, unless it may be dropped."""
    controls = (request.body.get("thinking") or {}).get("block_binding") or {}
    behaviour = controls.get("prefix_mismatch_behavior")
    if behaviour == "drop_block" or not (request.model.binds_thinking or behaviour == "error"):
        return
    for found in mismatches(request):
        yield broken("A11", f"{found.path}: `thinking` block does not match the conversation before it")
