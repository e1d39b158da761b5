"""O4, O5, O6: reasoning that is replayed."""

from __future__ import annotations

from collections.abc import Iterator

from precompact_standin.openai.request import Item, Request, kind_of
from precompact_standin.refusal import Refusal, broken

_FOLLOWERS = frozenset(
    {
        "reasoning",
        "function_call",
        "custom_tool_call",
        "shell_call",
        "local_shell_call",
        "apply_patch_call",
        "computer_call",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "tool_search_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "program",
        "compaction",
    }
)
"""What a model writes behind its reasoning, its messages aside."""


def replayed(request: Request) -> Iterator[Refusal]:
    """O6: `summary` is a list, `content` absent or empty."""
    for at, item in enumerate(request.items):
        if kind_of(item) != "reasoning":
            continue
        if not isinstance(item["summary"], list):
            yield broken("O6", "Invalid type for 'summary': expected a list.", param=f"input[{at}].summary")
        if item.get("content"):
            text = "Invalid 'content': reasoning content cannot be sent back."
            yield broken("O6", text, param=f"input[{at}].content", code="array_above_max_length")


def encrypted(request: Request) -> Iterator[Refusal]:
    """O5: without a store, reasoning brings its encrypted content; what was made here is unmodified."""
    for at, item in enumerate(request.items):
        if kind_of(item) != "reasoning":
            continue
        sealed = item.get("encrypted_content")
        if not sealed:
            if not request.stores:
                text = f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false."
                yield broken("O5", text, param=f"input[{at}]")
        elif request.signer.unseal(str(sealed)) is None and not request.scenario.foreign_signatures:
            text = "The encrypted content could not be verified."
            yield broken("O5", text, param=f"input[{at}].encrypted_content", code="invalid_encrypted_content")


def followed(request: Request) -> Iterator[Refusal]:
    """O4: behind reasoning stands what the model went on to write."""
    for item, behind in zip(request.items, [*request.items[1:], None], strict=False):
        if kind_of(item) == "reasoning" and item.get("id") and not _follows(behind):
            text = (
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
            )
            yield broken("O4", text, param="input")


def accompanied(request: Request) -> Iterator[Refusal]:
    """O4: what was made here with reasoning comes back with it."""
    ids = {item.get("id") for item in request.window if kind_of(item) == "reasoning"}
    for item in request.items:
        wanted = request.companions.get(str(item.get("id")))
        if wanted is not None and wanted not in ids:
            kind = kind_of(item)
            text = f"Item '{item['id']}' of type '{kind}' was provided without its required 'reasoning' item: '{wanted}'."
            yield broken("O4", text, param="input")


def _follows(item: Item | None) -> bool:
    if item is None:
        return False
    return item.get("role") == "assistant" if kind_of(item) == "message" else kind_of(item) in _FOLLOWERS
