"""Providers that asked a tenant to be left alone for a while (429). Advice, in keys of their own that end by themselves."""

from __future__ import annotations

from precompact_shared.store.keys import hold_key
from precompact_shared.store.op import Op


def hold(tenant: str, place: str, for_ms: int) -> Op[bool]:
    """Nobody who can wait asks the provider at this place before the time is over. The newest word counts."""
    return Op(None, (), ("SET", hold_key(tenant, place), "1", "PX", max(1, for_ms)), bool)


def held_ms(tenant: str, place: str) -> Op[int]:
    """Milliseconds that the provider at this place is still to be left alone; 0 where it is not."""
    return Op(None, (), ("PTTL", hold_key(tenant, place)), lambda raw: max(0, int(raw)))
