"""Recordings spoiled at random: messages dropped, doubled, swapped, and anything inside them replaced."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from precompact_shared.engine.types import Format
from tests.support.recordings import Recording

SECONDS_PER_CASE = 10
BYTES_PER_CASE = 200_000_000
WINDOW = 60
"""Messages of a recording that are spoiled at a time."""

STRANGE: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: -1,
    lambda: 10**400,
    lambda: 1e308,
    lambda: "",
    lambda: "\ud800",
    lambda: " \n",
    list,
    dict,
    lambda: [[]],
    lambda: [{}],
    lambda: [{"type": []}],
    lambda: {"type": "text"},
    lambda: {"type": "tool_use"},
    lambda: {"type": "compaction", "signature": []},
    lambda: {"role": {"role": "user"}},
)


def nested(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


def drop(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """One message less."""
    messages.pop(chance.randrange(len(messages)))


def double(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """One message once more, anywhere."""
    messages.insert(chance.randrange(len(messages) + 1), json.loads(chance.choice(donors)))


def swap(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """Two messages change places."""
    one, other = chance.randrange(len(messages)), chance.randrange(len(messages))
    messages[one], messages[other] = messages[other], messages[one]


def alter(chance: random.Random, messages: list[Any], donors: list[str]) -> None:
    """Anything inside a message becomes something else, moves, goes or gets a neighbour."""
    owner: Any = messages
    key: Any = chance.randrange(len(messages))
    while isinstance(owner[key], (dict, list)) and owner[key] and chance.random() < 0.75:
        owner = owner[key]
        key = chance.choice(list(owner)) if isinstance(owner, dict) else chance.randrange(len(owner))
    match chance.randrange(4):
        case 0:
            owner[key] = chance.choice(STRANGE)()
        case 1:
            owner[key] = nested(chance.choice((3, 200, 5_000)))
        case 2 if len(owner) > 1:
            del owner[key]
        case _:
            owner[key] = json.loads(chance.choice(donors))


WAYS: tuple[Callable[[random.Random, list[Any], list[str]], None], ...] = (
    drop,
    double,
    swap,
    alter,
    alter,
    alter,
)


@lru_cache(maxsize=128)
def text_of(recording: Recording) -> tuple[Format, str]:
    """The format and the messages as JSON, so that every case spoils its own copy."""
    content = recording.load()
    return Format(content["format"]), json.dumps(content["messages"])


def spoiled(recording: Recording, seed: int, times: int) -> tuple[Format, list[Any]]:
    """A stretch of the recording, spoiled that many times."""
    chance = random.Random(seed)
    wire, text = text_of(recording)
    messages = json.loads(text)
    start = chance.randrange(len(messages))
    messages = messages[start : start + WINDOW]
    donors = [json.dumps(message) for message in messages]
    for _ in range(times):
        if messages:
            chance.choice(WAYS)(chance, messages, donors)
    return wire, messages
