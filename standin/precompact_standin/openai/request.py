"""A Responses request as the rules and the model look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from precompact_standin.models import Model
from precompact_standin.refusal import Refusal
from precompact_standin.scenario import Scenario
from precompact_standin.signing import Signer
from precompact_standin.state import Call, State

Item = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """The body, the chain of `previous_response_id` behind it, and the model."""

    body: Mapping[str, Any]
    chain: list[Item]
    model: Model
    workspace: str
    scenario: Scenario
    signer: Signer
    companions: Mapping[str, str]
    """Id of an item made here -> id of the reasoning it came with."""

    @cached_property
    def items(self) -> list[Item]:
        """The input as items: a string is one user message."""
        given = self.body.get("input")
        if isinstance(given, str):
            return [message("user", given)]
        return given if isinstance(given, list) else []

    @property
    def window(self) -> list[Item]:
        """Everything the model sees: the chain, then the input."""
        return [*self.chain, *self.items]

    @property
    def stores(self) -> bool:
        """Whether replies are kept, which is the default."""
        return self.body.get("store") is not False

    @property
    def triggered(self) -> bool:
        """Whether the input ends with a compaction trigger."""
        return bool(self.items) and kind_of(self.items[-1]) == "compaction_trigger"


def kind_of(item: Item) -> str:
    """The item's type; a message may leave it out."""
    return str(item.get("type", "message" if "role" in item else "item_reference"))


def message(role: str, text: str) -> Item:
    """A message item in its easy form."""
    return {"type": "message", "role": role, "content": text}


def parts_of(content: Any) -> list[dict[str, Any]]:
    """Content as parts."""
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content or [])


def texts_of(item: Item) -> Iterator[str]:
    """The texts of an item that are not encrypted."""
    if "role" in item:
        for part in parts_of(item.get("content")):
            yield str(part.get("text") or part.get("refusal") or "")
    for name in ("name", "arguments", "input", "output", "code", "result"):
        if (value := item.get(name)) is not None:
            yield value if isinstance(value, str) else _flat(value)
    if item.get("summary"):
        yield _flat(item["summary"])


def read_request(state: State, call: Call, model: Model) -> Request:
    """The request with its chain. Raises a 400 for a chain nobody knows."""
    previous = call.body.get("previous_response_id")
    if previous is not None and previous not in state.stored:
        text = f"Previous response with id '{previous}' not found."
        raise Refusal(text, code="previous_response_not_found", param="previous_response_id")
    chain = state.stored.get(str(previous), [])
    scenario, signer = state.scenario, state.signer
    return Request(call.body, chain, model, call.workspace, scenario, signer, state.companions)


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in value)
    return str(value)
