"""Agents that talk without end through the client, and remember what they said, for tests that kill processes."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import precompact
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate

WINDOW, MAX_OUTPUT = 16_000, 1_000
WORDS = [
    "queue",
    "lease",
    "fence",
    "window",
    "summary",
    "ledger",
    "stream",
    "token",
    "cut",
    "tail",
    "prefix",
    "shard",
    "retry",
    "signal",
]
RETRY = precompact.Retry(attempts=4)


def talk(seed: int) -> Iterator[list[dict[str, Any]]]:
    """What comes before each model call, and the model's reply to it: turns of a tool-using agent, without end."""
    rng = random.Random(seed)
    number = 0
    yield [{"role": "user", "content": f"Task {seed}: keep the service running. {_text(rng, 40)}"}]
    while True:
        number += 1
        ids = [f"call_{number}_{n}" for n in range(rng.choice((1, 1, 2)))]
        calls = [
            {"type": "tool_use", "id": i, "name": "Read", "input": {"file_path": f"src/{i}.py"}} for i in ids
        ]
        yield [
            {"role": "assistant", "content": [{"type": "text", "text": _text(rng, 12)}, *calls]},
            {"role": "user", "content": [_result(i, _text(rng, rng.choice((60, 200, 500)))) for i in ids]},
        ]


def _result(call: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": text}


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) + str(rng.randrange(1000)) for _ in range(words))


class Agent(threading.Thread):
    """One session on one API, prepared call by call until told to stop; `said` is its own list."""

    def __init__(self, url: str, key: str, session_id: str, seed: int) -> None:
        super().__init__(name=session_id, daemon=True)
        self.client = precompact.Client(url, key, timeout_s=3.0, retry=RETRY)
        self.session = self.client.session(
            session_id, format="anthropic", model="claude-sonnet-4-6", window=WINDOW, max_output=MAX_OUTPUT
        )
        self.session_id = session_id
        self.statuses: dict[str, int] = {}
        self.adoptions: list[tuple[int, str]] = []
        """Version and checkpoint of every context that was adopted in an answer of ours."""
        self.problems: list[str] = []
        self._talk = talk(seed)
        self._ended = threading.Event()

    @property
    def said(self) -> list[Any]:
        """Everything this agent ever said, in order."""
        return list(self.session.messages)

    def run(self) -> None:
        """Talks until `finish`."""
        try:
            while not self._ended.is_set():
                self._turn()
        except Exception as error:  # noqa: BLE001 - reported by the test, with the session's name
            self.problems.append(f"{self.session_id}: {type(error).__name__}: {error}")

    def _turn(self) -> None:
        context = self.session.prepare(next(self._talk))
        status = context.status.value
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status in {"adopted", "waited", "reduced"}:
            self.adoptions.append((context.version, str(context.checkpoint)))
        broken = validate(Format.ANTHROPIC, context.messages)
        if broken:
            self.problems.append(f"{self.session_id}: {status} context breaks {broken[0]}")
        self._ended.wait(0.02)

    def finish(self) -> None:
        """Stops talking and delivers what is not with the service yet."""
        self._ended.set()
        self.join(30)
        assert not self.is_alive(), f"{self.session_id} hangs"
        if not self.problems:
            self.session.flush()
        self.client.close()
