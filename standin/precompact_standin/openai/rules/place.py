"""O7, O8, O13, O14 and what else depends on where an item stands or comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from precompact_standin.openai.request import Request, kind_of
from precompact_standin.refusal import Refusal, broken

MIN_THRESHOLD_TOKENS = 1_000
_OWN_IDS = ("msg_", "rs_", "fc_", "ctc_", "cmp_", "ws_", "fs_")
"""How ids begin that the provider gave; names a client gave may come twice."""


def chain_or_conversation(request: Request) -> Iterator[Refusal]:
    """O13: never both."""
    if request.body.get("previous_response_id") and request.body.get("conversation"):
        text = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
        yield broken("O13", text, code="mutually_exclusive_parameters")


def trigger_last(request: Request) -> Iterator[Refusal]:
    """O8: a compaction trigger is the last item."""
    for at, item in enumerate(request.items[:-1]):
        if kind_of(item) == "compaction_trigger":
            yield broken("O8", "'compaction_trigger' must be the final input item.", param=f"input[{at}]")


def known_once(request: Request) -> Iterator[Refusal]:
    """O7: no id twice, nothing replayed that the chain holds."""
    ids = Counter(
        str(item["id"]) for item in request.window if item.get("id") and kind_of(item) != "item_reference"
    )
    for name, times in ids.items():
        if times > 1 and name.startswith(_OWN_IDS):
            yield broken("O7", f"Duplicate item found with id {name}.", param="input")


def sealed(request: Request) -> Iterator[Refusal]:
    """O14: a compaction item is unmodified and of the same organisation."""
    for at, item in enumerate(request.items):
        if kind_of(item) != "compaction":
            continue
        record = request.signer.unseal(str(item["encrypted_content"]))
        if record is None or record.get("kind") != "compaction" or record["org"] != request.workspace:
            text = "The encrypted content could not be verified."
            yield broken(
                "O14", text, param=f"input[{at}].encrypted_content", code="invalid_encrypted_content"
            )


def references(request: Request) -> Iterator[Refusal]:
    """O5: references need a store that holds what they name."""
    known = {item.get("id") for item in request.chain}
    for at, item in enumerate(request.items):
        if kind_of(item) == "item_reference" and (not request.stores or item["id"] not in known):
            text = f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false."
            yield broken("O5", text, param=f"input[{at}]")


def temperature(request: Request) -> Iterator[Refusal]:
    """GPT-6 takes a temperature only with reasoning effort none."""
    effort = (request.body.get("reasoning") or {}).get("effort")
    given = [name for name in ("temperature", "top_p") if request.body.get(name) is not None]
    if given and effort != "none" and request.model.name.startswith("gpt-6"):
        text = f"Unsupported parameter: '{given[0]}' is not supported with this model."
        yield broken("P1", text, param=given[0], code="unsupported_parameter")


def thresholds(request: Request) -> Iterator[Refusal]:
    """Context management knows compaction alone, from 1,000 tokens on."""
    for at, entry in enumerate(request.body.get("context_management") or []):
        where = f"context_management[{at}]"
        if entry.get("type") != "compaction" or set(entry) - {"type", "compact_threshold"}:
            yield broken("P2", f"Invalid value: '{where}'.", param=where)
        threshold = entry.get("compact_threshold")
        if threshold is not None and not (isinstance(threshold, int) and threshold >= MIN_THRESHOLD_TOKENS):
            text = f"Invalid '{where}.compact_threshold': expected a value of 1000 or more."
            yield broken("P2", text, param=f"{where}.compact_threshold", code="integer_below_min_value")
