"""Small memories of one process: values that age within seconds, and values that never change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from precompact_shared.clock import monotonic_s

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Aging(Generic[K, V]):
    """Keeps values for `ttl_s` seconds, at most `most` of them; the oldest go first."""

    def __init__(self, ttl_s: float, most: int, now_s: Callable[[], float] = monotonic_s) -> None:
        self._ttl_s = ttl_s
        self._most = most
        self._now_s = now_s
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value while it is fresh."""
        kept = self._kept.get(key)
        if kept is None or kept[0] < self._now_s():
            return None
        return kept[1]

    def put(self, key: K, value: V) -> V:
        """Keeps a value and returns it."""
        self._kept.pop(key, None)
        self._kept[key] = (self._now_s() + self._ttl_s, value)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        """Drops a value."""
        self._kept.pop(key, None)


class Recent(Generic[K, V]):
    """Keeps the values used last, at most `most_bytes` of them by the weights given; for what never changes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, which counts as used now."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        return kept[0]

    def put(self, key: K, value: V, weight_bytes: int) -> V:
        """Keeps a value and returns it."""
        self.forget(key)
        self._kept[key] = (value, weight_bytes)
        self._bytes += weight_bytes
        while self._bytes > self._most_bytes and len(self._kept) > 1:
            _, (_, freed) = self._kept.popitem(last=False)
            self._bytes -= freed
        return value

    def forget(self, key: K) -> None:
        """Drops a value."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= kept[1]
