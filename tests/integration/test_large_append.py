"""A large append is read, named and counted beside the event loop: small calls go on meanwhile."""

from __future__ import annotations

import threading
from typing import Any

import httpx

from precompact_shared.clock import monotonic_s
from tests.support import tally
from tests.support.service import Service

MESSAGES, CHARS = 40, 500_000
"""Twenty megabytes."""
WORDS = "line {0}: the parser reads 0x{0:x} and writes what it finds into table {0}, then it goes on\n"


def large_body() -> dict[str, Any]:
    """Text that no tokenizer knows by heart."""
    size = CHARS // len(WORDS.format(10_000))
    texts = [
        "".join(WORDS.format(number * size + line) for line in range(size)) for number in range(MESSAGES)
    ]
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(texts)
    ]
    return {"seen": {"version": 0, "length": 0}, "messages": messages}


def test_a_small_call_does_not_wait_for_a_large_append(service: Service) -> None:
    """The longest pause is a small part of what the large call takes: it was not counted on the loop."""
    body = large_body()
    pauses: list[float] = []
    took: list[float] = []

    def send_large() -> None:
        with service.client() as http:
            began_s = monotonic_s()
            answer = http.post("/v1/sessions/large/messages", json=body, timeout=120)
            took.append(monotonic_s() - began_s)
            assert answer.status_code == 200, answer.text
            assert answer.json()["appended"] == MESSAGES

    with service.client() as http:
        for name in ("large", "small"):
            _make(http, name)
        sender = threading.Thread(target=send_large)
        sender.start()
        while sender.is_alive():
            began_s = monotonic_s()
            assert http.get("/v1/sessions/small").status_code == 200
            pauses.append(monotonic_s() - began_s)
        sender.join()
    assert took
    tally.remark(
        f"a 20 MB append took {took[0]:.1f} s; {len(pauses)} small calls meanwhile, the longest {max(pauses):.2f} s"
    )
    assert len(pauses) >= 20
    assert max(pauses) < took[0] / 3


def _make(http: httpx.Client, name: str) -> None:
    made = {"id": name, "format": "anthropic", "model": "claude-sonnet-4-6", "window": 100_000_000}
    assert http.post("/v1/sessions", json=made).status_code == 201
