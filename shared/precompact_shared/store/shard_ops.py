"""Operations on many sessions of one shard in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from precompact_shared.store.keys import SessionKeys, ShardKeys
from precompact_shared.store.op import Argument, Op

DECISIONS_KEPT = 100


class Handled(NamedTuple):
    """A session that was decided on at (version, length); `decision` is JSON to keep, empty for none."""

    keys: SessionKeys
    version: int
    length: int
    decision: bytes = b""


def handled_many(shard: ShardKeys, handled: Iterable[Handled]) -> Op[int]:
    """Clears the unhandled marks of sessions of this shard that still stand as they were decided on; keeps decisions.

    The answer is the number of marks cleared: a session that moved on keeps its mark, one that is gone loses it.
    """
    keys, args = [shard.unhandled], list[Argument]([DECISIONS_KEPT])
    for one in handled:
        keys += (one.keys.key("h"), one.keys.key("d"))
        args += (one.keys.name, one.version, one.length, one.decision)
    return Op("handled_many", tuple(keys), tuple(args), int)
