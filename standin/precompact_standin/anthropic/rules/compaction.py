"""A14 and the codes of on-demand compaction; threshold compaction beside it."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_standin.anthropic.headers import COMPACT, EDITING, THRESHOLD
from precompact_standin.anthropic.request import Block, Request, of_type
from precompact_standin.refusal import Refusal, broken
from precompact_standin.signing import digest

MAX_INSTRUCTION_CHARS = 16_384
MIN_TRIGGER_TOKENS = 50_000
MAX_TOOL_REFERENCES = 1_024
"""How many distinct tools a block can record; the true number is not published."""
_EDIT_BETAS = {"compact_20260112": THRESHOLD}


def headers(request: Request) -> Iterator[Refusal]:
    """A14: blocks and edits travel with the header of their beta."""
    for path, block in request.blocks():
        if block["type"] != "compaction":
            continue
        wanted = COMPACT if block.get("signature") is not None else THRESHOLD
        if wanted not in request.betas:
            yield broken(
                "A14",
                f"{path}: Input tag 'compaction' found using 'type' does not match any of the expected tags; it "
                f"needs the beta {wanted}",
            )
    for edit in request.edits:
        wanted = _EDIT_BETAS.get(edit["type"], EDITING)
        if wanted not in request.betas:
            yield broken("A14", f"context_management: {edit['type']} needs the beta {wanted}")


def request(request: Request) -> Iterator[Refusal]:
    """What a compaction on demand cannot stand beside."""
    body = request.body
    if not request.compacts:
        return
    output, choice = body.get("output_config") or {}, body.get("tool_choice") or {}
    clashes = {
        "context_management": bool(body.get("context_management")),
        "stop_sequences": bool(body.get("stop_sequences")),
        "output_config.format": bool(output.get("format")),
        "tool_choice": choice.get("type") in {"any", "tool"},
        "output_config.task_budget.remaining": "remaining" in (output.get("task_budget") or {}),
        "max_tokens: 0": body.get("max_tokens") == 0,
    }
    for name, clashing in clashes.items():
        if clashing:
            yield broken("K1", f"compaction: cannot be combined with {name}")
    if body["compaction"]["type"] != "summarize":
        yield broken("K1", "compaction.type: Input should be 'summarize'")
    if len(body["compaction"].get("instructions") or "") > MAX_INSTRUCTION_CHARS:
        yield broken("K1", f"compaction.instructions: at most {MAX_INSTRUCTION_CHARS} characters are allowed")


def place(request: Request) -> Iterator[Refusal]:
    """A14: a signed block is alone of its kind and opens the list; none has text ""."""
    if request.signed_blocks and len(list(_with_content(request))) > 1:
        yield broken("A14", "messages: more than one compaction block", code="compaction_block_ambiguous")
    for path, block in request.blocks():
        if block["type"] != "compaction":
            continue
        if block.get("content") == "":
            yield broken("A14", f"{path}.content: must not be empty")
        if block.get("signature") is not None and path != "messages.0.content.0":
            yield broken(
                "A14",
                f"{path}: the compaction block must be the first block of the conversation",
                code="compaction_block_misplaced",
            )


def signatures(request: Request) -> Iterator[Refusal]:
    """A14: the block is as it was handed out."""
    for block in request.signed_blocks:
        record = request.signer.read(str(block["signature"]))
        if record is None or record.get("kind") != "compaction":
            yield broken(
                "A14", "the compaction block's signature is not valid", code="compaction_signature_invalid"
            )
        elif record["content"] != digest(block.get("content")):
            yield broken(
                "A14", "the compaction block's content was changed", code="compaction_content_mismatch"
            )
        elif record["changes"] != digest(block.get("tool_changes") or []):
            yield broken(
                "A14",
                "the compaction block's tool_changes were changed",
                code="compaction_tool_changes_mismatch",
            )


def with_threshold(request: Request) -> Iterator[Refusal]:
    """A signed block and threshold compaction exclude each other; a threshold is 50,000 tokens or more."""
    for edit in request.edits:
        if edit["type"] != "compact_20260112":
            continue
        if request.signed_blocks:
            yield broken(
                "K2", "context_management: compact_20260112 cannot be used with a signed compaction block"
            )
        trigger = edit.get("trigger") or {"type": "input_tokens", "value": MIN_TRIGGER_TOKENS}
        if trigger.get("type") != "input_tokens" or trigger.get("value", 0) < MIN_TRIGGER_TOKENS:
            yield broken("K2", "context_management.edits: trigger must be at least 50000 input_tokens")
    kinds = [edit["type"] for edit in request.edits]
    if "clear_thinking_20251015" in kinds[1:]:
        yield broken("K2", "context_management.edits: clear_thinking_20251015 must come first")


def material(request: Request) -> Iterator[Refusal]:
    """A compaction needs something to sum up, whose last turn is finished."""
    said = [block for turn in request.turns if turn.role != "system" for block in turn.blocks]
    beside = [block for block in said if block["type"] != "compaction"]
    if not beside and (request.compacts or request.signed_blocks):
        yield broken("A14", "messages: nothing to summarize", code="compaction_nothing_to_summarize")
    if not request.compacts:
        return
    last = request.turns[-1]
    if last.role == "assistant" and of_type(last.blocks, "tool_use"):
        yield broken("A14", "the last assistant turn is not finished", code="compaction_incomplete_turn")
    if len({block["name"] for block in of_type(said, "tool_use")}) > MAX_TOOL_REFERENCES:
        yield broken("A14", "too many tools are referenced", code="compaction_too_many_tool_references")


def _with_content(request: Request) -> Iterator[Block]:
    return (
        block
        for _, block in request.blocks()
        if block["type"] == "compaction" and block.get("content") is not None
    )
