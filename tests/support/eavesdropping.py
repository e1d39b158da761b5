"""Everything that a service lets be seen: logs, a Redis by value and not by dump, Celery's events as Flower gets them."""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import redis

from precompact_shared.courier import make_app

_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")


def values_of(url: str, *, but: Callable[[str], bool] = lambda _: False) -> Iterator[tuple[str, str]]:
    """Name and content of every key; those that `but` names are left out. A dump would hide words by compressing."""
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter(count=1_000):
            name = key.decode(errors="replace")
            if not but(name):
                yield name, unpacked(str(_read(client, key)))


def unpacked(text: str) -> str:
    """The text, with what is packed in it as base64 behind it: bodies of Celery's messages are."""
    found = [text]
    for packed in _BASE64.findall(text):
        try:
            found.append(base64.b64decode(packed, validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            continue
    return "\n".join(found)


def _read(client: redis.Redis, key: bytes) -> Any:
    reads: dict[bytes, Callable[[], Any]] = {
        b"string": lambda: client.get(key),
        b"hash": lambda: client.hgetall(key),
        b"list": lambda: client.lrange(key, 0, -1),
        b"set": lambda: client.smembers(key),
        b"zset": lambda: client.zrange(key, 0, -1, withscores=True),
        b"stream": lambda: client.xrange(key),
        b"none": lambda: None,
    }
    kind = client.type(key)
    return reads[kind if isinstance(kind, bytes) else kind.encode()]()


class Eavesdropper:
    """A context manager that takes down Celery's events, and what messages lie in the broker meanwhile."""

    def __init__(self, broker_url: str) -> None:
        self._url = broker_url
        self._app = make_app(broker_url, client_name="precompact-eavesdropper")
        self._over = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._look)]
        self._stop: Callable[[], None] = lambda: None
        self.events: list[str] = []
        self.messages: list[str] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._stop()
        for thread in self._threads:
            thread.join(10)
        self._app.close()

    @property
    def kinds(self) -> set[str]:
        """Of the events that came."""
        return {json.loads(event)["type"] for event in self.events}

    def inspected(self) -> str:
        """What workers tell of themselves when Flower asks."""
        look = self._app.control.inspect(timeout=2)
        return str([look.active(), look.reserved(), look.scheduled(), look.stats(), look.registered()])

    def _listen(self) -> None:
        with self._app.connection_for_read() as connection:
            receiver = self._app.events.Receiver(connection, handlers={"*": self._take})
            self._stop = lambda: setattr(receiver, "should_stop", True)
            receiver.capture(limit=None, timeout=None, wakeup=True)

    def _take(self, event: dict[str, Any]) -> None:
        self.events.append(json.dumps(event, default=str))

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self.messages += [text for _, text in values_of(self._url)]
