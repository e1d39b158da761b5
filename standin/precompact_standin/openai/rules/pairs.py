"""O1, O2, O3: calls and their outputs, each by its type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from precompact_standin.openai.request import Item, Request, kind_of
from precompact_standin.refusal import Refusal, broken

OUTPUT_OF: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "program": "program_output",
}
_CALL_OF = {output: call for call, output in OUTPUT_OF.items()}


def answered(request: Request) -> Iterator[Refusal]:
    """O1, O3: every call has one output behind it."""
    outputs = Counter(_key(item) for item in request.window if kind_of(item) in _CALL_OF)
    for item in request.window:
        kind = kind_of(item)
        if kind not in OUTPUT_OF:
            continue
        found = outputs[OUTPUT_OF[kind], item["call_id"]]
        if found == 0:
            yield broken(
                _rule(kind, "O1"),
                f"No tool output found for {_named(kind)} {item['call_id']}.",
                param="input",
            )
        elif found > 1:
            text = f"More than one tool output found for {_named(kind)} {item['call_id']}."
            yield broken(_rule(kind, "O1"), text, param="input")


def belonging(request: Request) -> Iterator[Refusal]:
    """O2, O3: no output without its call before it."""
    called: set[tuple[str, str]] = set()
    for item in request.window:
        kind = kind_of(item)
        if kind in OUTPUT_OF:
            called.add((OUTPUT_OF[kind], item["call_id"]))
        elif kind in _CALL_OF and _key(item) not in called:
            call = _CALL_OF[kind]
            text = f"No tool call found for {_named(call)} output with call_id {item['call_id']}."
            yield broken(_rule(call, "O2"), text, param="input")


def _key(item: Item) -> tuple[str, str]:
    return kind_of(item), str(item["call_id"])


def _rule(kind: str, usual: str) -> str:
    return usual if kind == "function_call" else "O3"


def _named(kind: str) -> str:
    return kind.replace("_", " ")
