"""A Messages request as the rules and the model look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from precompact_standin.models import Model
from precompact_standin.scenario import Scenario
from precompact_standin.signing import Signer

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role, taken together as the API does; `at` is the first message's index."""

    role: str
    blocks: tuple[Block, ...]
    at: int


@dataclass(frozen=True)
class Request:
    """The body with what its headers say. Fields may still be of any shape until the rules have looked."""

    body: Mapping[str, Any]
    model: Model
    version: str
    betas: frozenset[str]
    scenario: Scenario
    signer: Signer
    counting: bool = False

    @property
    def messages(self) -> list[Any]:
        """The messages as sent; objects with a known role once the rules of form have looked."""
        found: list[Any] = self.body["messages"]
        return found

    @cached_property
    def turns(self) -> list[Turn]:
        """The messages with neighbours of one role merged."""
        return merged(self.messages)

    @property
    def compacts(self) -> bool:
        """Whether a signed block is asked for, on demand. Counting takes the field without effect."""
        return bool(self.body.get("compaction")) and not self.counting

    @property
    def edits(self) -> list[dict[str, Any]]:
        """The edits of `context_management`."""
        found: list[dict[str, Any]] = (self.body.get("context_management") or {}).get("edits") or []
        return found

    @cached_property
    def signed_blocks(self) -> list[Block]:
        """All compaction blocks with a signature."""
        return [
            block
            for _, block in self.blocks()
            if block.get("type") == "compaction" and block.get("signature") is not None
        ]

    def blocks(self) -> Iterator[tuple[str, Block]]:
        """Every block of the messages with its path."""
        for index, message in enumerate(self.messages):
            if isinstance(message.get("content"), list):
                for at, block in enumerate(message["content"]):
                    yield f"messages.{index}.content.{at}", block


def blocks_of(content: Any) -> list[Block]:
    """Content as blocks: a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def merged(messages: list[dict[str, Any]]) -> list[Turn]:
    """Neighbours of one role as one turn each."""
    found: list[Turn] = []
    for index, message in enumerate(messages):
        blocks = tuple(blocks_of(message.get("content")))
        if found and found[-1].role == message["role"]:
            found[-1] = Turn(found[-1].role, found[-1].blocks + blocks, found[-1].at)
        else:
            found.append(Turn(message["role"], blocks, index))
    return found


def of_type(blocks: tuple[Block, ...] | list[Block], *types: str) -> list[Block]:
    """The blocks of one of these types, in order."""
    return [block for block in blocks if block.get("type") in types]
